CREATE OR REPLACE FUNCTION sqlsvm._mixed(multipliers float8[], size integer)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT array_agg(e.v ORDER BY e.i) FROM (
        SELECT s.i, sum(multipliers[c.place] * s.a) AS v
        FROM pg_temp.sqlsvm_cuts AS c, unnest(c.slope[: size]) WITH ORDINALITY AS s (a, i)
        WHERE multipliers[c.place] <> 0 GROUP BY s.i) AS e);
END
$$;

COMMENT ON FUNCTION sqlsvm._mixed(float8[], integer) IS 'The sum of multiplier times slope over cuts and limits, along the first coordinates';
