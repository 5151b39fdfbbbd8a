-- Each pass has stored its own products with the slopes before it.
CREATE OR REPLACE FUNCTION sqlsvm._gram(of_images boolean)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        WITH known AS (
            SELECT c.pass, CASE WHEN of_images THEN c.products_of_images ELSE c.products END AS products
            FROM pg_temp.sqlsvm_cuts AS c)
        SELECT array_agg(CASE WHEN a.pass >= b.pass THEN a.products[b.pass + 1] ELSE b.products[a.pass + 1] END
            ORDER BY a.pass, b.pass)
        FROM known AS a, known AS b);
END
$$;

COMMENT ON FUNCTION sqlsvm._gram(boolean) IS 'The products of all slopes of the bundle, row by row; or those with their images';
