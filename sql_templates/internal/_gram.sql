CREATE OR REPLACE FUNCTION sqlsvm._gram(weight float8[], common float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        WITH known AS MATERIALIZED (
            SELECT c.place, CASE WHEN c.is_cut THEN sqlsvm._plus(c.slope[: cardinality(weight)], -1, common) ELSE c.slope END AS slope
            FROM pg_temp.sqlsvm_cuts AS c
        ), weighted AS MATERIALIZED (
            SELECT k.place, ARRAY(SELECT CASE WHEN abs(e.a) > 1e-150 THEN e.a * e.w ELSE 0 END
                FROM unnest(k.slope[: cardinality(weight)], weight) WITH ORDINALITY AS e (a, w, n) ORDER BY e.n) AS slope FROM known AS k
        ), product AS MATERIALIZED (
            SELECT a.place AS i, b.place AS j, (  -- _dot and _times in place: each call of a function costs
                SELECT coalesce(sum(t.x * t.y) FILTER (WHERE abs(t.x) > 1e-150 AND abs(t.y) > 1e-150), 0)
                FROM unnest(a.slope, b.slope) AS t (x, y)) AS p
            FROM weighted AS a JOIN known AS b ON b.place <= a.place
        )
        SELECT array_agg(p.p ORDER BY p.i, p.j) FROM (
            SELECT i, j, p FROM product UNION ALL SELECT j, i, p FROM product WHERE j < i) AS p);
END
$$;

COMMENT ON FUNCTION sqlsvm._gram(float8[], float8[]) IS
    'The products of all slopes of limits, and of cuts less what they have in common, in this curvature, row by row';
