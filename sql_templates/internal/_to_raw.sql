-- Weights of scaled features as weights of raw coordinates that give the same scores
CREATE OR REPLACE FUNCTION sqlsvm._to_raw(p sqlsvm._problem, beta float8[])
RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT coalesce(sum(e.factor * beta[e.place]), 0)
            FROM generate_series(1, p.coordinates) AS i LEFT JOIN sqlsvm._parts(p) AS e ON e.raw = i GROUP BY i ORDER BY i)
        || beta[cardinality(p.features) + 1 :]
$$;
