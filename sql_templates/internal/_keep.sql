-- Stores the best iterate as a new version, in the form of the Python driver
CREATE OR REPLACE FUNCTION sqlsvm._keep(p sqlsvm._problem, program sqlsvm.programs, wanted jsonb, at sqlsvm._state, seconds float8)
RETURNS sqlsvm.training LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kept sqlsvm.training := (program.name, NULL, at.pass, at.objective, at.objective_upper, at.lower_bound, at.gap,
        at.nothing OR at.gap <= (wanted -> 'effort' ->> 'tol')::float8, seconds);
    beta CONSTANT float8[] := (SELECT c.point FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.best);
    lambda float8 := wanted ->> 'lam';
    solver text := wanted ->> 'solver';
    counting text := p.design ->> 'method';
    -- Without class weights, which belong to the training. A row of weight w counts as w rows.
    label_rows jsonb := CASE WHEN p.n_negative IS NULL THEN '{}' ELSE (
        SELECT jsonb_object_agg(r.label, CASE WHEN p.design ->> 'weight' IS NULL THEN round(r.n) ELSE r.n END)
        FROM (VALUES ('-1', p.n_negative / p.weight_negative), ('1', (p.n - p.n_negative) / p.weight_positive)) AS r (label, n)) END;
    join_rows float8 := coalesce((label_rows ->> '-1')::float8 + (label_rows ->> '1')::float8,
        CASE WHEN p.design ->> 'weight' IS NULL THEN round(p.n) ELSE p.n END);
    in_passes float8 := (SELECT sum(c.seconds) FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass > 0);
    engine text := 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1);
    body jsonb;
BEGIN
    INSERT INTO sqlsvm.models AS m (name, last_version) VALUES (program.name, 1)
    ON CONFLICT (name) DO UPDATE SET last_version = m.last_version + 1 RETURNING m.last_version INTO kept.version;
    body := to_jsonb(kept) || jsonb_build_object(
        'engine', engine, 'query', program.query, 'dialect', 'postgres', 'label', program.label,
        'positive', wanted -> 'problem' -> 'positive', 'lambda', lambda, 'solver', solver, 'counting', counting,
        'nulls', p.nulls, 'bags', p.design -> 'bags', 'join_rows', join_rows, 'label_rows', label_rows,
        'history', (SELECT jsonb_agg(jsonb_build_object('pass', c.pass, 'objective', c.objective,
                'objective_upper', c.objective_upper, 'lower_bound', c.lower_bound, 'gap', c.gap,
                'buckets', c.buckets, 'seconds', c.seconds) ORDER BY c.pass)
            FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass > 0),
        'seconds', in_passes, 'phases', jsonb_build_object('passes', in_passes, 'other', seconds - in_passes),
        'label_centre', p.design -> 'label_centre', 'label_width', sqlsvm._label_width(p, wanted -> 'problem' ->> 'scale'),
        'options', wanted, 'trained_on', p.design -> 'trained_on' || jsonb_build_object('database', 'postgresql:///' || current_database(),
            'rows', p.rows),
        'format', 22, 'threshold', coalesce(sqlsvm._dot(sqlsvm._from_raw(p, ARRAY(SELECT t / p.n FROM unnest(p.total) AS t)), beta)
            + (p.design -> 'cut' ->> 'at')::float8 * (p.design -> 'cut' ->> 'spread')::float8, 0),
        'notes', CASE WHEN at.nothing AND at.gap > (wanted -> 'effort' ->> 'tol')::float8 THEN jsonb_build_array(format(
            'the objective is at most %s, which is what rounding may add to sums of such numbers: it may be 0', trim(to_char(at.objective_upper, '9.9EEEE'))))
            WHEN at.rounded > at.gap / 2 THEN jsonb_build_array(format(
            '%s of the gap is what the rounding of sums of doubles may do: more passes prove no more', trim(to_char(at.rounded, '9.9EEEE'))))
            WHEN at.objective_upper > 0 THEN '[]' ELSE '["the objective is 0: no weights can be better"]' END,
        'constraints', (SELECT coalesce(jsonb_agg(jsonb_build_object('row', l.name, 'slack',
                l.way * (l.scale * beta[l.at] - coalesce(beta[l.other], 0) - l.edge)) ORDER BY l.place), '[]')
            FROM pg_temp.sqlsvm_limits AS l))
        || jsonb_strip_nulls(jsonb_build_object('maps', p.design -> 'maps'))
        || sqlsvm._weights(p, beta);
    INSERT INTO sqlsvm.versions (name, version, engine, query, label, lam, solver, counting, join_rows, passes, seconds,
        objective, objective_upper, lower_bound, gap, converged, body, score)
    VALUES (program.name, kept.version, engine, program.query, program.label, lambda, solver, counting, join_rows,
        kept.passes, in_passes, kept.objective, kept.objective_upper, kept.lower_bound, kept.gap, kept.converged, body::text,
        sqlsvm._score_text(body, p.design -> 'values'));
    INSERT INTO sqlsvm.iterations (name, version, pass, objective, objective_upper, lower_bound, gap, buckets, seconds)
    SELECT program.name, kept.version, c.pass, c.objective, c.objective_upper, c.lower_bound, c.gap, c.buckets, c.seconds
    FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass > 0;
    RETURN kept;
END $$;
