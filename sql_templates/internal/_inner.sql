-- min slope.b + b^2 / (2 weight) + pull b + l1 |b|, one coordinate after the other. A weight may be below 0 where others outweigh it.
CREATE OR REPLACE FUNCTION sqlsvm._inner(slope float8[], shape sqlsvm._shape)
RETURNS TABLE (place bigint, b float8, is_free boolean, value float8)
LANGUAGE sql IMMUTABLE
AS $$
    SELECT c.place, m.b, m.b = m.reached AND (c.l1 = 0 OR m.reached <> 0), c.s * m.b + coalesce(m.b * m.b / nullif(2 * c.weight, 0), 0) + c.l1 * abs(m.b)
    FROM (
        SELECT e.place, CASE WHEN abs(e.g + e.pull) > 1e-140 THEN e.g + e.pull ELSE 0 END AS s, e.weight, e.l1, e.low, e.high
        FROM unnest(slope, shape.weight, shape.pull, shape.l1, shape.low, shape.high)
            WITH ORDINALITY AS e (g, weight, pull, l1, low, high, place)
    ) AS c, LATERAL (
        SELECT f.reached, least(greatest(f.reached, c.low), c.high) AS b
        FROM (SELECT -c.weight * sign(c.s) * greatest(0, abs(c.s) - c.l1) AS reached) AS f
    ) AS m
$$;

COMMENT ON FUNCTION sqlsvm._inner(float8[], sqlsvm._shape) IS 'The minimum along each coordinate; is it free to move there?';
