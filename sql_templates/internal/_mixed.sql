CREATE OR REPLACE FUNCTION sqlsvm._mixed(multipliers float8[], is_turned boolean)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT array_agg(e.v ORDER BY e.i) FROM (
        SELECT s.i, sum(c.multiplier * s.a) AS v
        FROM (SELECT multipliers[row_number() OVER (ORDER BY c.place)] AS multiplier, CASE WHEN is_turned THEN c.slope || c.turned ELSE c.slope END AS slope
            FROM pg_temp.sqlsvm_cuts AS c) AS c,
            unnest(c.slope) WITH ORDINALITY AS s (a, i)
        WHERE c.multiplier <> 0 GROUP BY s.i) AS e);
END
$$;

COMMENT ON FUNCTION sqlsvm._mixed(float8[], boolean) IS 'The sum of multiplier times slope over cuts and limits; if is_turned, also along the eigenvectors';
