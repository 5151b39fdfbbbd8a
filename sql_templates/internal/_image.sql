-- M is diagonal in its eigenvectors, and off them: metric.outside is 1 / M there, and metric.inside what an eigenvector adds.
CREATE OR REPLACE FUNCTION sqlsvm._image(metric sqlsvm._metric, v float8[])
RETURNS float8[]
LANGUAGE sql IMMUTABLE
AS $$
    WITH known AS MATERIALIZED (
        SELECT v.place, v.x FROM unnest(v) WITH ORDINALITY AS v (x, place) WHERE abs(v.x) > 1e-150
    ), cell AS MATERIALIZED (
        SELECT (e.n - 1) / cardinality(metric.places) AS vector, (e.n - 1) % cardinality(metric.places) + 1 AS i, e.q
        FROM unnest(metric.vectors) WITH ORDINALITY AS e (q, n)
    ), part AS (
        SELECT c.vector, m.inside * sum(c.q * k.x) AS x
        FROM unnest(metric.places) WITH ORDINALITY AS d (place, i) JOIN known AS k USING (place) JOIN cell AS c USING (i)
        JOIN unnest(metric.inside) WITH ORDINALITY AS m (inside, n) ON m.n = c.vector + 1
        GROUP BY c.vector, m.inside
    ), turned AS (
        SELECT d.place, s.x FROM unnest(metric.places) WITH ORDINALITY AS d (place, i) JOIN (
            SELECT c.i, sum(c.q * p.x) AS x FROM cell AS c JOIN part AS p USING (vector) WHERE abs(p.x) > 1e-150 GROUP BY c.i
        ) AS s USING (i)
    )
    SELECT array_agg(o.outside * coalesce(k.x, 0) + coalesce(t.x, 0) ORDER BY place)
    FROM unnest(metric.outside) WITH ORDINALITY AS o (outside, place) LEFT JOIN known AS k USING (place) LEFT JOIN turned AS t USING (place)
$$;

COMMENT ON FUNCTION sqlsvm._image(sqlsvm._metric, float8[]) IS 'The inverse of the metric times a vector';
