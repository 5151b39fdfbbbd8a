CREATE OR REPLACE FUNCTION sqlsvm._local_image(local sqlsvm._local, direction float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    image float8[];
BEGIN
    EXECUTE sqlsvm._local_means(local, 't * %s', format(
        '(SELECT *, %s AS t FROM pg_temp.sqlsvm_near OFFSET 0) AS b', sqlsvm._local_score(local)))
    INTO image USING direction || 0::float8;
    RETURN image;
END
$$;

COMMENT ON FUNCTION sqlsvm._local_image(sqlsvm._local, float8[]) IS 'The sum of x x.direction / K over sqlsvm_near';
