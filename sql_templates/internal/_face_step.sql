-- The step to the stationary point of a face; its parts for cuts add up to 0. The matrix is lifted a little, so that a flat direction
-- gives a long step instead of none. The walk stops at the end of the face.
CREATE OR REPLACE FUNCTION sqlsvm._face_step(hessian float8[], gradient float8[], is_cut float8[])
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lift float8[] := array_fill((SELECT greatest(1e-12 * max(abs(v)), 1e-30) FROM unnest(hessian) AS v), ARRAY[cardinality(gradient)]);
    u float8[] := sqlsvm._solve(hessian, lift, gradient);
    v float8[] := sqlsvm._solve(hessian, lift, is_cut);
    along float8 := sqlsvm._dot(v, is_cut);
BEGIN
    RETURN CASE WHEN along > 0 THEN sqlsvm._plus(u, -sqlsvm._dot(u, is_cut) / along, v) ELSE u END;
END
$$;

COMMENT ON FUNCTION sqlsvm._face_step(float8[], float8[], float8[]) IS 'A Newton step within a face';
