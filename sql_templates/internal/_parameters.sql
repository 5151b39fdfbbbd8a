-- What every statement of a problem may ask for.
CREATE OR REPLACE FUNCTION sqlsvm._parameters(p sqlsvm._problem, theta float8[] DEFAULT NULL)
RETURNS sqlsvm._given
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    given sqlsvm._given;
BEGIN
    given.theta := theta;
    given.weight_negative := p.weight_negative;
    given.weight_positive := p.weight_positive;
    RETURN given;
END
$$;

COMMENT ON FUNCTION sqlsvm._parameters(sqlsvm._problem, float8[]) IS 'The parameters of the statements of a problem';
