CREATE OR REPLACE FUNCTION sqlsvm._held(beta float8[])
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('row', l.name, 'slack', CASE WHEN l.at IS NULL
            THEN -sqlsvm._dot(l.slope, beta) - l.intercept ELSE l.coefficient * beta[l.at] - l.intercept END) ORDER BY l.place), '[]')
        FROM pg_temp.sqlsvm_limits AS l);
END
$$;

COMMENT ON FUNCTION sqlsvm._held(float8[]) IS 'Each constraint, and how far weights are within it';
