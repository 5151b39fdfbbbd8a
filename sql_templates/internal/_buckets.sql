-- NULL if counting is exact. The error of the grid falls with the square of the buckets, and the cost of a pass grows with
-- them, so each pass is as coarse as its purpose allows.
CREATE OR REPLACE FUNCTION sqlsvm._buckets(
    p sqlsvm._problem, at sqlsvm._state, local sqlsvm._local, point float8[], tol float8)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dane boolean := local IS NOT NULL;
    share float8 := 0.1 / CASE WHEN dane THEN 2 ^ least(at.stalls, 2) ELSE 1 END;
    error_at_one float8;
    wanted float8;
    last record;
BEGIN
    IF (p.design ->> 'one_bag')::boolean OR p.design ->> 'method' = 'exact' THEN
        RETURN NULL;
    END IF;
    SELECT c.error, c.buckets INTO last FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.pass;
    IF last.error > 0 THEN
        error_at_one := last.error * last.buckets * last.buckets;
    ELSE
        error_at_one := 2.25 * CASE WHEN dane THEN sqlsvm._local_density(local, point) ELSE 0.3 END;
    END IF;
    wanted := CASE WHEN at.pass = 0 THEN greatest(3e-4, share * tol)
        ELSE share * greatest(tol, CASE WHEN dane THEN 0.01 ELSE 0.5 END * least(1, at.gap)) * at.objective_upper END;
    RETURN greatest(4, least(65536, ceil(sqrt(error_at_one / greatest(wanted, 1e-12)))));
END
$$;

COMMENT ON FUNCTION sqlsvm._buckets(sqlsvm._problem, sqlsvm._state, sqlsvm._local, float8[], float8) IS 'Buckets a unit for the next pass';
