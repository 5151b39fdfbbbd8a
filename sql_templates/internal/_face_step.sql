-- The step to the stationary point of a face; its parts add up to 0. The matrix is lifted a little, so that a flat direction
-- gives a long step instead of none. The walk stops at the end of the face.
CREATE OR REPLACE FUNCTION sqlsvm._face_step(hessian float8[], gradient float8[])
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n integer := cardinality(gradient);
    lift float8[] := array_fill((SELECT greatest(1e-12 * max(abs(v)), 1e-30) FROM unnest(hessian) AS v), ARRAY[n]);
    u float8[] := sqlsvm._solve(hessian, lift, gradient);
    v float8[] := sqlsvm._solve(hessian, lift, array_fill(1::float8, ARRAY[n]));
BEGIN
    RETURN sqlsvm._plus(u, -(SELECT sum(x) FROM unnest(u) AS x) / (SELECT sum(x) FROM unnest(v) AS x), v);
END
$$;

COMMENT ON FUNCTION sqlsvm._face_step(float8[], float8[]) IS 'A Newton step within a face of the simplex';
