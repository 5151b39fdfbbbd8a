CREATE OR REPLACE FUNCTION sqlsvm._local_problem(
    local sqlsvm._local, beta float8[], tilt float8[], width float8, OUT value float8, OUT gradient float8[])
LANGUAGE sql VOLATILE
AS $$
    SELECT s.hinge + sqlsvm._dot(tilt, beta) + local.lambda * sqlsvm._dot(beta, beta),
        sqlsvm._plus(sqlsvm._plus(tilt, 2 * local.lambda, beta), 1, s.slope)
    FROM sqlsvm._local_sums(local, beta, width) AS s
$$;

COMMENT ON FUNCTION sqlsvm._local_problem(sqlsvm._local, float8[], float8[], float8) IS
    'The smoothed objective of the tilted sample and its gradient';
