-- The products in this curvature of the slopes of limits, and of cuts less that of the pivot: a lower triangle, row by row
CREATE OR REPLACE FUNCTION sqlsvm._gram(weight float8[], pivot integer)
RETURNS float8[] LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        WITH known AS MATERIALIZED (
            SELECT c.place, CASE WHEN c.is_cut THEN sqlsvm._plus(c.slope[: cardinality(weight)], -1, p.slope) ELSE c.slope END AS slope
            FROM pg_temp.sqlsvm_cuts AS c JOIN pg_temp.sqlsvm_cuts AS p ON p.place = pivot
        ), weighted AS MATERIALIZED (
            SELECT k.place, sqlsvm._times(k.slope[: cardinality(weight)], weight) AS slope FROM known AS k
        )
        SELECT array_agg((  -- _dot in place: each call of a function costs
            SELECT coalesce(sum(t.x * t.y) FILTER (WHERE abs(t.x) > 1e-150 AND abs(t.y) > 1e-150), 0)
            FROM unnest(a.slope, b.slope) AS t (x, y)) ORDER BY a.place, b.place)
        FROM weighted AS a JOIN known AS b ON b.place <= a.place);
END $$;
