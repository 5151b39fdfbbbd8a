CREATE OR REPLACE FUNCTION sqlsvm._combined(weights float8[])
RETURNS float8[]
LANGUAGE sql VOLATILE
AS $$
    SELECT array_agg(e.v ORDER BY e.i) FROM (
        SELECT s.i, sum(weights[c.pass + 1] * s.a) AS v
        FROM pg_temp.sqlsvm_cuts AS c, unnest(c.slope) WITH ORDINALITY AS s (a, i)
        WHERE weights[c.pass + 1] <> 0 GROUP BY s.i) AS e
$$;

COMMENT ON FUNCTION sqlsvm._combined(float8[]) IS 'The weighted sum of the slopes of the cuts';
