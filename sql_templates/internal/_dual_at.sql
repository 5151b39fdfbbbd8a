-- The dual of a bundle: its value, the point that these multipliers lead to, the curvature of the dual there, and its slope
-- min slope.b + b^2 / (2 weight) + pull b + l1 |b| within limits, one coordinate after the other. A weight may be below 0 where others
-- outweigh it. The curvature of the dual is that of the coordinates that are free to move; a hundredth of it stands for the others, so that
-- no step is without an end.
CREATE OR REPLACE FUNCTION sqlsvm._dual_at(
    shape sqlsvm._shape, multipliers float8[],
    OUT value float8, OUT point float8[], OUT weight float8[], OUT slope float8[])
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    WITH mixed AS (
        SELECT s.i, sum(multipliers[c.place] * s.a) AS a
        FROM pg_temp.sqlsvm_cuts AS c, unnest(c.slope[: cardinality(shape.weight)]) WITH ORDINALITY AS s (a, i)
        WHERE multipliers[c.place] <> 0 GROUP BY s.i
    ), along AS (
        SELECT e.j, e.weight, e.l1, CASE WHEN abs(m.a + e.pull) > 1e-140 THEN m.a + e.pull ELSE 0 END AS s, e.low, e.high
        FROM unnest(shape.weight, shape.pull, shape.l1, shape.low, shape.high) WITH ORDINALITY AS e (weight, pull, l1, low, high, j)
        JOIN mixed AS m ON m.i = e.j
    )
    SELECT sum(a.s * m.b + coalesce(m.b * m.b / nullif(2 * a.weight, 0), 0) + a.l1 * abs(m.b)), array_agg(m.b ORDER BY a.j),
        array_agg(CASE WHEN m.b = r.b AND (a.l1 = 0 OR r.b <> 0) THEN a.weight ELSE a.weight / 100 END ORDER BY a.j)
    INTO value, point, weight
    FROM along AS a, LATERAL (SELECT -a.weight * sign(a.s) * greatest(0, abs(a.s) - a.l1) AS b) AS r,
        LATERAL (SELECT least(greatest(r.b, a.low), a.high) AS b) AS m;
    SELECT _dual_at.value + sum(multipliers[c.place] * c.intercept), array_agg(c.intercept + sqlsvm._dot(c.slope, _dual_at.point) ORDER BY c.place)
    INTO value, slope FROM pg_temp.sqlsvm_cuts AS c;
END $$;
