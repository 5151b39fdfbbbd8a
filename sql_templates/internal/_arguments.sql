-- The values of the parameters of the statements of a problem; those for one label get theta multiplied by it
CREATE OR REPLACE FUNCTION sqlsvm._arguments(p sqlsvm._problem, theta float8[] DEFAULT NULL, label integer DEFAULT NULL)
RETURNS sqlsvm._given LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    given sqlsvm._given;
BEGIN
    given.theta := CASE WHEN label IS NULL THEN theta ELSE ARRAY(SELECT label * t.t FROM unnest(theta) WITH ORDINALITY AS t (t, i) ORDER BY t.i) END;
    given.label := label;
    given.weight_negative := p.weight_negative;
    given.weight_positive := p.weight_positive;
    RETURN given;
END $$;
