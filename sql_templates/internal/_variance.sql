-- N times the variance of a number or of a sum of terms, and what it is subtracted from; a term without squares is constant
CREATE OR REPLACE FUNCTION sqlsvm._variance(p sqlsvm._problem, terms integer[], present float8, OUT variance float8, OUT squares float8)
LANGUAGE sql IMMUTABLE AS $$
    WITH varied AS (SELECT t, p.total[t] / present AS mean FROM unnest(terms) AS t WHERE p.squares[t] > 0)
    SELECT coalesce(sum(p.squares[v.t] - present * v.mean * v.mean), 0) + coalesce((
            SELECT 2 * sum((p.design -> 'product sums' ->> (a.t || ' ' || b.t))::float8 - present * a.mean * b.mean)
            FROM varied AS a JOIN varied AS b ON a.t < b.t), 0),
        coalesce(sum(p.squares[v.t]), 0)
    FROM varied AS v
$$;
