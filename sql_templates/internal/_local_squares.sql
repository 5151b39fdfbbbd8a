CREATE OR REPLACE FUNCTION sqlsvm._local_squares(local sqlsvm._local, rows text)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    squares float8[];
BEGIN
    EXECUTE sqlsvm._local_means(local, '%1$s * %1$s', 'pg_temp.' || rows) INTO squares;
    RETURN squares;
END
$$;

COMMENT ON FUNCTION sqlsvm._local_squares(sqlsvm._local, text) IS 'The sum of x^2 / K over sqlsvm_local or sqlsvm_near, for each coordinate';
