CREATE OR REPLACE FUNCTION sqlsvm._heights(at float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ARRAY(SELECT c.intercept + sqlsvm._dot(c.slope, at) FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.place);
END
$$;

COMMENT ON FUNCTION sqlsvm._heights(float8[]) IS 'The values of all cuts and limits at a point: the slope of the dual';
