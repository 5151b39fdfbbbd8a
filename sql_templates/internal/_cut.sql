-- A pass on scaled features. At beta the value of the cut is the same on either side of the change of variables.
CREATE OR REPLACE FUNCTION sqlsvm._cut(p sqlsvm._problem, beta float8[], buckets integer, width float8)
RETURNS sqlsvm._cut
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    cut sqlsvm._cut := sqlsvm._pass(p, sqlsvm._to_raw(p, beta), buckets, width);
BEGIN
    cut.slope := sqlsvm._from_raw(p, cut.slope);
    cut.value_low := cut.intercept + sqlsvm._dot(cut.slope, beta) + cut.blur;
    RETURN cut;
END
$$;

COMMENT ON FUNCTION sqlsvm._cut(sqlsvm._problem, float8[], integer, float8) IS 'One pass over the tables: a cut on scaled features';
