-- The statements for one label get theta multiplied by it.
CREATE OR REPLACE FUNCTION sqlsvm._of_label(p sqlsvm._problem, theta float8[], label integer)
RETURNS sqlsvm._given
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    given sqlsvm._given := sqlsvm._parameters(p, ARRAY(
        SELECT label * t FROM unnest(theta) WITH ORDINALITY AS s (t, i) ORDER BY i));
BEGIN
    given.label := label;
    RETURN given;
END
$$;

COMMENT ON FUNCTION sqlsvm._of_label(sqlsvm._problem, float8[], integer) IS 'The parameters of the statements for one label';
