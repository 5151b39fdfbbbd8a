-- One pass over the tables: a cut on raw coordinates
-- A global minorant of the loss R, R(b) >= intercept + slope.b. With a width, rows near a knot count in part. The blur is the part
-- of R at theta that is then not counted. JoinOracle in run/join_oracle.py has the same formulas.
CREATE OR REPLACE FUNCTION sqlsvm._pass(p sqlsvm._problem, theta float8[], buckets integer, width float8 DEFAULT 0)
RETURNS sqlsvm._cut LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    given sqlsvm._given := sqlsvm._arguments(p, theta);
    pass CONSTANT jsonb := (SELECT k FROM jsonb_array_elements(p.design -> 'passes') WITH ORDINALITY AS s (k, place)
        WHERE coalesce((k ->> 'width')::float8, width) = width ORDER BY place LIMIT 1);
    lines CONSTANT jsonb := nullif(pass -> 'lines', 'null');
    whole CONSTANT boolean := lines IS NULL AND NOT (p.design ->> 'one_bag')::boolean;
    answers jsonb;
    totals jsonb;
    added jsonb;
    cut sqlsvm._cut;
BEGIN
    given.bound := coalesce((p.design -> 'loss' ->> 'origin')::float8, 0);
    given.buckets := coalesce(buckets, 1) / p.unit;
    given.width := width;
    answers := sqlsvm._run(pass ->> 'part', given);
    PERFORM sqlsvm._drop(pass ->> 'part'), sqlsvm._check_read();
    totals := answers -> (p.design ->> 'totals') -> 0;
    -- Where rows with a total below 0 were counted, for both labels, those of y = -1 count the other way.
    SELECT array_agg((CASE WHEN whole THEN s.negative ELSE 0 END - s.g) / p.n ORDER BY s.i) INTO cut.slope
    FROM unnest(sqlsvm._sums(p, answers), p.negative) WITH ORDINALITY AS s (g, negative, i);
    cut.lines := lines;
    cut.intercept := (totals ->> 'b')::float8 / p.n;
    cut.blur := coalesce((totals ->> 'blur')::float8 / p.n, 0);
    cut.error := sqlsvm._counting_error(p, answers, lines, given.buckets);
    IF whole THEN
        cut.intercept := cut.intercept + p.n_negative / p.n;
    ELSIF lines IS NOT NULL THEN
        added := coalesce(answers -> 'functions of the join' -> 0, '{}');
        cut.intercept := coalesce((p.design -> 'loss' ->> 'origin')::float8, 1) * cut.intercept - (lines ->> 'conjugate')::float8
            - coalesce((added ->> 'dual')::float8, 0) / p.n - (lines ->> 'above')::float8;
        IF lines ->> 'psi' IS NOT NULL THEN
            cut.blur := (lines ->> 'psi')::float8 + (added ->> 'psi')::float8 / p.n - (lines ->> 'above')::float8
                - cut.intercept - sqlsvm._dot(cut.slope, theta);
        END IF;
        cut.error := cut.error + (lines ->> 'error')::float8;
    END IF;
    cut.value_low := cut.intercept + sqlsvm._dot(cut.slope, theta) + cut.blur;
    RETURN cut;
END $$;
