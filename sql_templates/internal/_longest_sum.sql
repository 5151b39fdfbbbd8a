-- The terms of sums, one after the other, at most
-- A term of a sum is rounded at most as often as the sums on its way have terms. Each term of a sum over messages that counts in an
-- answer is a part of other rows of the join. Messages of whole numbers are not rounded.
CREATE OR REPLACE FUNCTION sqlsvm._longest_sum(p sqlsvm._problem, sums jsonb, rows jsonb, rounded boolean)
RETURNS float8 LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(sum(least(product.terms, (s.item ->> 'most')::float8, CASE
        WHEN s.weighted AND p.design ->> 'weight' IS NULL THEN
            coalesce(p.n_negative / p.weight_negative + (p.n - p.n_negative) / p.weight_positive, p.n) END)), 0)
    FROM (SELECT item, (item ->> 'weighted')::boolean AS weighted FROM jsonb_array_elements(sums) AS item) AS s,
        LATERAL (SELECT CASE WHEN min(n.n) > 0 THEN exp(least(700, sum(ln(n.n)))) * (1 + 1e-9) ELSE 0 END AS terms
            FROM (SELECT (rows ->> alias)::float8 AS n FROM jsonb_array_elements_text(s.item -> 'relations') AS alias) AS n
        ) AS product
    WHERE rounded OR NOT s.weighted
$$;
