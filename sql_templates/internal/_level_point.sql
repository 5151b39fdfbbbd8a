-- argmin |beta - best|^2 where the cuts allow model(beta) <= level. With a multiplier of the constraint this is a proximal
-- step, whose dual has a shifted centre. The model's value falls as the multiplier grows, so bisect on its logarithm. That
-- needs only products of slopes; the point itself is computed last.
CREATE OR REPLACE FUNCTION sqlsvm._level_point(at sqlsvm._state, lambda float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    level CONSTANT float8 := 0.7 * at.objective + 0.3 * at.lower_bound;
    best CONSTANT float8[] := (SELECT c.point FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.best);
    square CONSTANT float8 := sqlsvm._dot(best, best);
    gram CONSTANT float8[] := sqlsvm._gram(false);
    offsets CONSTANT float8[] := ARRAY(SELECT c.intercept FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.pass);
    at_best CONSTANT float8[] := ARRAY(SELECT sqlsvm._dot(c.slope, best) FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.pass);
    n CONSTANT integer := cardinality(offsets);
    low float8 := ln(1e-8 / lambda);
    high float8 := ln(1e8 / lambda);
    middle float8;
    curvature float8;
    share float8;
    alpha float8[] := at.alpha;
    value float8;
    found record := ROW(0::float8, lambda, alpha);
BEGIN
    FOR bisection IN 1 .. 40 LOOP
        middle := (low + high) / 2;
        curvature := lambda + exp(-middle);
        share := exp(-middle) / curvature;
        alpha := sqlsvm._simplex(gram, sqlsvm._plus(offsets, share, at_best), curvature, alpha);
        SELECT max(offsets[i] + share * at_best[i] - m.product / (2 * curvature))
                + lambda * (share * share * square - share / curvature * sum(alpha[i] * at_best[i])
                    + sum(alpha[i] * m.product) / (4 * curvature * curvature))
        INTO value
        FROM generate_series(1, n) AS i,
            LATERAL (SELECT sum(gram[(i - 1) * n + j] * alpha[j]) AS product FROM generate_series(1, n) AS j) AS m;
        IF value <= level THEN
            high := middle;
            found := ROW(share, curvature, alpha);
        ELSE
            low := middle;
        END IF;
    END LOOP;
    RETURN sqlsvm._plus(sqlsvm._plus(array_fill(0::float8, ARRAY[cardinality(best)]), found.f1, best),
        -1 / (2 * found.f2), sqlsvm._mixed(found.f3));
END
$$;

COMMENT ON FUNCTION sqlsvm._level_point(sqlsvm._state, float8) IS 'The next point of the level bundle';
