-- By how much a cut of that width stays below the sample's hinge at beta: max(0, z) less the share of z that it counts,
-- which is |z| (width - |z|) / (2 width) near the hinge.
CREATE OR REPLACE FUNCTION sqlsvm._local_blur(local sqlsvm._local, beta float8[], width float8)
RETURNS float8
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    blur float8;
BEGIN
    EXECUTE format('SELECT sum(greatest(z * ($2 - z), 0)) / (2 * $2) FROM (SELECT abs(1 - (%s)) AS z FROM pg_temp.sqlsvm_local) AS a',
        sqlsvm._local_score(local)) INTO blur USING beta || 0::float8, width;
    RETURN blur / local.rows;
END
$$;

COMMENT ON FUNCTION sqlsvm._local_blur(sqlsvm._local, float8[], float8) IS 'What a soft cut leaves out of the sample''s hinge';
