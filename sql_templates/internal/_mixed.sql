CREATE OR REPLACE FUNCTION sqlsvm._mixed(alpha float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT array_agg(e.v ORDER BY e.i) FROM (
        SELECT s.i, sum(alpha[c.pass + 1] * s.a) AS v
        FROM pg_temp.sqlsvm_cuts AS c, unnest(c.slope) WITH ORDINALITY AS s (a, i)
        WHERE alpha[c.pass + 1] <> 0 GROUP BY s.i) AS e);
END
$$;

COMMENT ON FUNCTION sqlsvm._mixed(float8[]) IS 'The sum of alpha times slope over the bundle';
