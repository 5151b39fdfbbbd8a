-- argmin |beta - centre|^2 where the cuts allow model(beta) <= level. With a multiplier of the constraint this is a proximal
-- step, whose dual has a shifted centre. The model's value falls as the multiplier grows, so bisect on its logarithm. That
-- needs only products of slopes; the point itself is computed last.
CREATE OR REPLACE FUNCTION sqlsvm._level_point(
    gram float8[], offsets float8[], centre float8[], level float8, lambda float8, start float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n integer := cardinality(offsets);
    at_centre float8[] := ARRAY(SELECT sqlsvm._dot(c.slope, centre) FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.pass);
    square float8 := sqlsvm._dot(centre, centre);
    low float8 := ln(1e-8 / lambda);
    high float8 := ln(1e8 / lambda);
    middle float8;
    curvature float8;
    share float8;
    alpha float8[] := start;
    best_alpha float8[] := start;
    best_share float8 := 0;
    best_curvature float8 := lambda;
    value float8;
BEGIN
    FOR bisection IN 1 .. 25 LOOP
        middle := (low + high) / 2;
        curvature := lambda + exp(-middle);
        share := exp(-middle) / curvature;
        alpha := sqlsvm._simplex(gram, sqlsvm._plus(offsets, share, at_centre), curvature, alpha);
        SELECT max(offsets[i] + share * at_centre[i] - m.product / (2 * curvature))
                + lambda * (share * share * square - share / curvature * sum(alpha[i] * at_centre[i])
                    + sum(alpha[i] * m.product) / (4 * curvature * curvature))
        INTO value
        FROM generate_series(1, n) AS i,
            LATERAL (SELECT sum(gram[(i - 1) * n + j] * alpha[j]) AS product FROM generate_series(1, n) AS j) AS m;
        IF value <= level THEN
            high := middle;
            best_alpha := alpha; best_share := share; best_curvature := curvature;
        ELSE
            low := middle;
        END IF;
    END LOOP;
    RETURN sqlsvm._plus(
        sqlsvm._plus(array_fill(0::float8, ARRAY[cardinality(centre)]), best_share, centre),
        -1 / (2 * best_curvature),
        (SELECT array_agg(e.v ORDER BY e.i) FROM (
            SELECT s.i, sum(best_alpha[c.pass + 1] * s.a) AS v
            FROM pg_temp.sqlsvm_cuts AS c, unnest(c.slope) WITH ORDINALITY AS s (a, i)
            WHERE best_alpha[c.pass + 1] <> 0 GROUP BY s.i) AS e));
END
$$;

COMMENT ON FUNCTION sqlsvm._level_point(float8[], float8[], float8[], float8, float8, float8[]) IS 'The next point of the level bundle';
