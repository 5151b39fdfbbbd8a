-- NULL if counting is exact. The error of the grid falls with the square of the buckets, and the cost of a pass grows with
-- them, so each pass is as coarse as its purpose allows: it may be off by a tenth of the gap that it can hope to reach.
CREATE OR REPLACE FUNCTION sqlsvm._buckets(p sqlsvm._problem, at sqlsvm._state, hope float8, tol float8)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- A first guess; every pass measures it.
    error_at_one float8 := coalesce((p.design ->> 'roundings')::float8, 3) / 8 * at.grain;
    wanted float8 := greatest(1e-4, 0.1 * tol);
BEGIN
    IF (p.design ->> 'one_bag')::boolean OR p.design ->> 'method' = 'exact' THEN
        RETURN NULL;
    ELSIF at.pass > 0 THEN
        error_at_one := (SELECT coalesce(nullif(c.error * c.buckets * c.buckets, 0), error_at_one)
            FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.pass);
        wanted := 0.1 / 2 ^ least(at.stalls, 2) * greatest(tol, hope * least(1, at.gap)) * at.objective_upper;
    END IF;
    RETURN greatest(4, least(65536, ceil(sqrt(error_at_one / greatest(wanted, 1e-12)))));
END
$$;

COMMENT ON FUNCTION sqlsvm._buckets(sqlsvm._problem, sqlsvm._state, float8, float8) IS 'Buckets a unit for the next pass';
