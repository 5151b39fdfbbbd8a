CREATE OR REPLACE FUNCTION sqlsvm._gram(weight float8[], is_turned boolean, common float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        WITH known AS MATERIALIZED (
            SELECT c.i, CASE WHEN c.is_cut THEN sqlsvm._plus(c.slope, -1, common) ELSE c.slope END AS slope
            FROM (SELECT row_number() OVER (ORDER BY c.place) AS i, c.is_cut, CASE WHEN is_turned THEN c.slope || c.turned ELSE c.slope END AS slope
                FROM pg_temp.sqlsvm_cuts AS c) AS c
        ), weighted AS MATERIALIZED (
            SELECT k.i, ARRAY(SELECT CASE WHEN abs(e.a) > 1e-150 THEN e.a * e.w ELSE 0 END
                FROM unnest(k.slope, weight) WITH ORDINALITY AS e (a, w, n) ORDER BY e.n) AS slope FROM known AS k
        ), product AS MATERIALIZED (
            SELECT a.i, b.i AS j, sqlsvm._dot(a.slope, b.slope) AS p FROM weighted AS a JOIN known AS b ON b.i <= a.i
        )
        SELECT array_agg(p.p ORDER BY p.i, p.j) FROM (
            SELECT i, j, p FROM product UNION ALL SELECT j, i, p FROM product WHERE j < i) AS p);
END
$$;

COMMENT ON FUNCTION sqlsvm._gram(float8[], boolean, float8[]) IS
    'The products of all slopes of limits, and of cuts less what they have in common, in this curvature, row by row';
