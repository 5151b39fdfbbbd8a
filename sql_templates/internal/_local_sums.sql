-- Hinge part and slope of the sample at beta, the hinge smoothed over width:
--     h(z) = 0 below -width, z above width, (z + width)^2 / (4 width) between; width 0 is the hinge itself.
CREATE OR REPLACE FUNCTION sqlsvm._local_sums(
    rows float8, beta float8[], width float8, OUT hinge float8, OUT slope float8[])
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    d integer := cardinality(beta);
BEGIN
    EXECUTE format(
        'SELECT coalesce(sum($2 * share * share + greatest(m - $2, 0)), 0) / $3, ARRAY[%s]
         FROM (SELECT *, coalesce(least((m + $2) / nullif(2 * $2, 0), 1), 1) AS share
               FROM (SELECT *, 1 - (%s) AS m FROM pg_temp.sqlsvm_local OFFSET 0) AS a WHERE m > -$2 OFFSET 0) AS b',
        (SELECT string_agg(format('coalesce(-sum(share * z%s), 0) / $3', i), ', ' ORDER BY i) FROM generate_series(1, d) AS i),
        sqlsvm._local_score(d))
    INTO hinge, slope USING beta, width, rows;
END
$$;

COMMENT ON FUNCTION sqlsvm._local_sums(float8, float8[], float8) IS 'The smoothed hinge of the sample and its slope';
