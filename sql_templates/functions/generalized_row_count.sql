-- For each label and k the largest threshold that at least count join rows reach with 1 - label * score
CREATE OR REPLACE FUNCTION sqlsvm.generalized_row_count(
    model text, beta jsonb DEFAULT NULL, epsilon float8 DEFAULT 0.1, buckets integer DEFAULT 64,
    trust text DEFAULT NULL)
RETURNS TABLE (label integer, k integer, count float8, threshold float8)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p sqlsvm._problem;
    given sqlsvm._given;
    rows float8;
    answers jsonb;
BEGIN
    PERFORM sqlsvm._check_option('buckets', buckets, 1, true, 'buckets => 64');
    PERFORM sqlsvm._check_option('epsilon', epsilon, 0, false, 'epsilon => 0.1');
    p := sqlsvm._begun(model, beta, trust, 'rows');
    IF NOT (p.design ->> 'one_bag')::boolean AND p.design ->> 'method' = 'exact' THEN  -- the list of pairs can be as long as the join
        given := sqlsvm._arguments(p, p.theta);
        given.bound := 0;
        given.buckets := 1;
        PERFORM sqlsvm._run('list', given);
        rows := (sqlsvm._run('pairs', given) -> 'pairs' -> 0 ->> 'n')::float8;
        PERFORM sqlsvm._drop('list');
        IF rows > 1e7 THEN
            RAISE EXCEPTION 'exact thresholds would sort % pairs of scores', to_char(rows, 'FM999,999,999,999,990') USING ERRCODE = 'SV003',
                HINT = 'Compile it again with --counting grid, which rounds the scores.';
        END IF;
    END IF;
    FOREACH label IN ARRAY ARRAY[-1, 1] LOOP
        rows := CASE WHEN label < 0 THEN p.n_negative ELSE p.n - p.n_negative END;
        PERFORM sqlsvm._check_levels(epsilon, rows);
        given := sqlsvm._arguments(p, p.theta, label);
        given.bound := 1;
        given.buckets := buckets;
        given.levels := sqlsvm._levels(epsilon, rows);
        answers := sqlsvm._run('thresholds', given);
        PERFORM sqlsvm._drop('thresholds');
        RETURN QUERY
            SELECT * FROM (  -- a level that no count ends at has the threshold of the next one
                SELECT generalized_row_count.label, l.place::integer - 1, l.f, max(t.threshold) OVER (ORDER BY l.f DESC) AS most
                FROM unnest(given.levels) WITH ORDINALITY AS l (f, place)
                LEFT JOIN jsonb_to_recordset(answers -> 'thresholds') AS t (f float8, threshold float8) ON t.f = l.f) AS found
            WHERE most IS NOT NULL ORDER BY 2;
    END LOOP;
    PERFORM sqlsvm._close();
END $$;
