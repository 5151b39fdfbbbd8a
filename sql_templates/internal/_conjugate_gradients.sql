-- s with (sum of x x' / K over sqlsvm_near + ridge) s = b, to two digits: the next Newton step corrects the rest. It is
-- scaled by the diagonal, which is small for rare categories and large for common ones.
CREATE OR REPLACE FUNCTION sqlsvm._conjugate_gradients(local sqlsvm._local, ridge float8[], b float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    scale float8[] := ARRAY(SELECT 1 / d FROM unnest(sqlsvm._plus(ridge, 1, sqlsvm._local_squares(local, 'sqlsvm_near')))
        WITH ORDINALITY AS a (d, i) ORDER BY i);
    s float8[] := array_fill(0::float8, ARRAY[local.dimension]);
    residual float8[] := b;
    scaled float8[] := sqlsvm._times(scale, residual);
    direction float8[] := scaled;
    square float8 := sqlsvm._dot(residual, scaled);
    target float8 := 1e-4 * square;
    sum_of_images text := sqlsvm._local_means(local, 't * %s', format(
        '(SELECT *, %s AS t FROM pg_temp.sqlsvm_near OFFSET 0) AS b', sqlsvm._local_score(local)));
    image float8[];
    length float8;
    before float8;
BEGIN
    FOR turn IN 1 .. 200 LOOP
        EXIT WHEN square <= target;
        EXECUTE sum_of_images INTO image USING direction || 0::float8;
        image := sqlsvm._plus(sqlsvm._times(ridge, direction), 1, image);
        length := square / sqlsvm._dot(direction, image);
        s := sqlsvm._plus(s, length, direction);
        residual := sqlsvm._plus(residual, -length, image);
        scaled := sqlsvm._times(scale, residual);
        before := square;
        square := sqlsvm._dot(residual, scaled);
        direction := sqlsvm._plus(scaled, square / before, direction);
    END LOOP;
    RETURN s;
END
$$;

COMMENT ON FUNCTION sqlsvm._conjugate_gradients(sqlsvm._local, float8[], float8[]) IS 'A Newton step for many coordinates';
