-- What of the sample bends: a smoothed hinge is straight beyond its width.
CREATE OR REPLACE FUNCTION sqlsvm._local_near(local sqlsvm._local, beta float8[], width float8)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    TRUNCATE pg_temp.sqlsvm_near;
    EXECUTE format('INSERT INTO pg_temp.sqlsvm_near SELECT * FROM pg_temp.sqlsvm_local WHERE abs(1 - (%s)) < $2',
        sqlsvm._local_score(local)) USING beta || 0::float8, width;
END
$$;

COMMENT ON FUNCTION sqlsvm._local_near(sqlsvm._local, float8[], float8) IS 'Puts the sampled rows within width of the hinge into sqlsvm_near';
