CREATE OR REPLACE FUNCTION sqlsvm._local_density(local sqlsvm._local, beta float8[], within float8 DEFAULT 0.1)
RETURNS float8
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    near float8;
BEGIN
    EXECUTE format('SELECT count(*) FROM pg_temp.sqlsvm_local WHERE abs(1 - (%s)) < $2',
        sqlsvm._local_score(local)) INTO near USING beta || 0::float8, within;
    RETURN near / local.rows / (2 * within);
END
$$;

COMMENT ON FUNCTION sqlsvm._local_density(sqlsvm._local, float8[], float8) IS 'The density of the margins of the sample at the hinge';
