-- What is minimised together with the cuts: the penalty, perhaps with |beta - centre|^2 times a proximity
-- An intercept without a penalty gets a trace of one, from its centre,
-- so that the problem has a solution; no bound depends on it.
CREATE OR REPLACE FUNCTION sqlsvm._lowest_shape(penalty sqlsvm._penalty, centre float8[] DEFAULT NULL, proximity float8 DEFAULT 0)
RETURNS sqlsvm._shape LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ROW(array_agg(1 / (2 * (coalesce(e.trace, penalty.lambda) + proximity)) ORDER BY e.j),
        array_agg(CASE WHEN abs(centre[e.j]) > 1e-150 THEN -2 * (coalesce(e.trace, 0) + proximity) * centre[e.j] ELSE 0 END ORDER BY e.j),
        penalty.l1, penalty.low, penalty.high)::sqlsvm._shape
    FROM (SELECT l.j, CASE WHEN l.j = penalty.intercept THEN penalty.trace END AS trace FROM unnest(penalty.l1) WITH ORDINALITY AS l (l1, j)) AS e
$$;
