-- The most that rounding may have taken past a change of the slope: solve/crossing.py has the same formulas
-- `rows` are d buckets beyond it when rounded; the sums of what was rounded away, and of its square, are `rests` and `squares`.
CREATE OR REPLACE FUNCTION sqlsvm._crossed(d float8, "rows" float8, rests float8, squares float8, delta float8)
RETURNS float8 LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN delta <= abs(d) THEN 0
        ELSE greatest(0, least("rows" * (delta - abs(d)), 1e-9 * "rows" * x.farthest + least(
            (x.total + sqrt("rows" * (greatest(0, "rows" * d * d + 2 * d * rests + squares) + 1e-9 * "rows" * x.farthest ^ 2))) / 2,
            (delta - abs(d)) * (x.total + "rows" * x.farthest) / (2 * delta)))) END
    FROM (SELECT CASE WHEN d > 0 THEN -1 ELSE 1 END * ("rows" * d + rests) AS total, delta + abs(d) AS farthest) AS x
$$;
