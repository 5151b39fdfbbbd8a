CREATE OR REPLACE FUNCTION sqlsvm.predict(model text, features jsonb, version integer DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    score CONSTANT double precision := sqlsvm._score(body, features);
BEGIN
    RETURN CASE  -- NaN is greater than all numbers
        WHEN score <= 0 THEN sqlsvm._label_value(body, -1)
        WHEN score < 'NaN' THEN sqlsvm._label_value(body, 1)
    END;
END
$$;

COMMENT ON FUNCTION sqlsvm.predict(text, jsonb, integer) IS
    'The label of one row, as the text of the label''s own value; NULL if there is no score or it is NaN';
