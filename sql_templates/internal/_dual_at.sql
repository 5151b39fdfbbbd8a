CREATE OR REPLACE FUNCTION sqlsvm._dual_at(
    shape sqlsvm._shape, multipliers float8[],
    OUT value float8, OUT slope float8[], OUT point float8[], OUT weight float8[])
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    slope := sqlsvm._mixed(multipliers, cardinality(shape.weight));
    SELECT sum(i.value), array_agg(i.b ORDER BY i.place), array_agg(CASE WHEN i.is_free THEN shape.weight[i.place] ELSE 0 END ORDER BY i.place)
    INTO value, point, weight FROM sqlsvm._inner(slope, shape) AS i;
    value := value + (SELECT sum(multipliers[c.place] * c.intercept) FROM pg_temp.sqlsvm_cuts AS c);
END
$$;

COMMENT ON FUNCTION sqlsvm._dual_at(sqlsvm._shape, float8[]) IS
    'The dual of a bundle: its value, the point that these multipliers lead to, and the curvature of the dual there';
