CREATE OR REPLACE FUNCTION sqlsvm._local_density(rows float8, beta float8[], within float8 DEFAULT 0.1)
RETURNS float8
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    near float8;
BEGIN
    EXECUTE format('SELECT count(*) FROM pg_temp.sqlsvm_local WHERE abs(1 - (%s)) < $2',
        sqlsvm._local_score(cardinality(beta))) INTO near USING beta, within;
    RETURN near / rows / (2 * within);
END
$$;

COMMENT ON FUNCTION sqlsvm._local_density(float8, float8[], float8) IS 'The density of the margins of the sample at the hinge';
