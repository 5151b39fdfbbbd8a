-- The hinge is smoothed over width:
--     h(z) = 0 below -width, z above width, (z + width)^2 / (4 width) between; width 0 is the hinge itself.
CREATE OR REPLACE FUNCTION sqlsvm._local_sums(
    local sqlsvm._local, beta float8[], width float8, OUT hinge float8, OUT slope float8[])
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    means float8[];
BEGIN
    EXECUTE sqlsvm._local_means(local, '-share * %s', format(
            '(SELECT *, coalesce(least((m + $2) / nullif(2 * $2, 0), 1), 1) AS share
              FROM (SELECT *, 1 - (%s) AS m FROM pg_temp.sqlsvm_local OFFSET 0) AS a WHERE m > -$2 OFFSET 0) AS b',
            sqlsvm._local_score(local)), ARRAY['$2 * share * share + greatest(m - $2, 0)'])
    INTO means USING beta || 0::float8, width;
    hinge := means[1];
    slope := means[2 :];
END
$$;

COMMENT ON FUNCTION sqlsvm._local_sums(sqlsvm._local, float8[], float8) IS 'The smoothed hinge of the sample and its slope';
