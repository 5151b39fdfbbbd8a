CREATE OR REPLACE FUNCTION sqlsvm._local_value(local sqlsvm._local, beta float8[], tilt float8[])
RETURNS float8
LANGUAGE sql VOLATILE
AS $$
    SELECT s.hinge + sqlsvm._dot(tilt, beta) + local.lambda * sqlsvm._dot(beta, beta)
    FROM sqlsvm._local_sums(local, beta, 0) AS s
$$;

COMMENT ON FUNCTION sqlsvm._local_value(sqlsvm._local, float8[], float8[]) IS 'The true objective of the tilted sample';
