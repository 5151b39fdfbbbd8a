CREATE OR REPLACE FUNCTION sqlsvm._local_value(rows float8, beta float8[], tilt float8[], lambda float8)
RETURNS float8
LANGUAGE sql VOLATILE
AS $$
    SELECT s.hinge + sqlsvm._dot(tilt, beta) + lambda * sqlsvm._dot(beta, beta)
    FROM sqlsvm._local_sums(rows, beta, 0) AS s
$$;

COMMENT ON FUNCTION sqlsvm._local_value(float8, float8[], float8[], float8) IS 'The true objective of the tilted sample';
