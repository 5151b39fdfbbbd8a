-- D(alpha) minus the largest possible rounding error, so it never exceeds the exact D of a feasible point. alpha may sum
-- to slightly more than 1, so it is first scaled below 1, and the zero cut takes the rest. A sum of n products is off by at
-- most n eps times the sum of their absolute values, which bounds the linear term from below and the norm from above. So
-- does what the rounding of sums has done to the cuts.
CREATE OR REPLACE FUNCTION sqlsvm._dual_bound(alpha float8[], lambda float8, rounding sqlsvm._rounding)
RETURNS float8
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    g float8;
    feasible float8[];
    linear float8;
    norm float8;
    slopes float8;
BEGIN
    SELECT 2 * (count(*) + max(cardinality(c.slope)) + 8) * 2.220446049250313e-16 INTO g FROM pg_temp.sqlsvm_cuts AS c;
    feasible := ARRAY(SELECT greatest(a, 0) * ((1 - g) / greatest(1, sum(greatest(a, 0)) OVER ()))
        FROM unnest(alpha) WITH ORDINALITY AS s (a, i) ORDER BY i);
    SELECT sum(feasible[c.pass + 1] * c.intercept) - g * sum(feasible[c.pass + 1] * abs(c.intercept))
            - rounding.share * greatest(1, sum(alpha[c.pass + 1] * c.offset_size)),
        rounding.share * greatest(1, sum(alpha[c.pass + 1] * c.slope_size))
    INTO linear, slopes FROM pg_temp.sqlsvm_cuts AS c;
    SELECT coalesce(sqrt(sum(e.v * e.v)) + g * sqrt(sum(e.size * e.size)), 0) + slopes * rounding.features INTO norm FROM (
        SELECT abs(sum(feasible[c.pass + 1] * s.a)) + slopes * coalesce(rounding.sizes[s.i], 0) AS v, sum(feasible[c.pass + 1] * abs(s.a)) AS size
        FROM pg_temp.sqlsvm_cuts AS c, unnest(c.slope) WITH ORDINALITY AS s (a, i)
        WHERE feasible[c.pass + 1] > 0 GROUP BY s.i) AS e;
    RETURN linear - norm * norm * (1 + g) / (4 * lambda) - g * abs(linear);
END
$$;

COMMENT ON FUNCTION sqlsvm._dual_bound(float8[], float8, sqlsvm._rounding) IS 'A proven lower bound on the optimum';
