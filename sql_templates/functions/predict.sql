CREATE OR REPLACE FUNCTION sqlsvm.predict(model text, features jsonb, version integer DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    score CONSTANT double precision := sqlsvm._score(body, features);
BEGIN
    IF body #> '{trained_on,label_values}' = '[null, null]' THEN  -- the label is a number
        RETURN nullif(score, 'NaN')::text;
    END IF;
    RETURN (
        SELECT CASE jsonb_typeof(l.value) WHEN 'number' THEN trim_scale((l.value #>> '{}')::numeric)::text
            ELSE l.value #>> '{}' END
        FROM (SELECT coalesce(body #> '{trained_on,label_values}', '[-1, 1]')
            -> CASE WHEN score <= 0 THEN 0 WHEN score < 'NaN' THEN 1 END) AS l (value)  -- NaN is greater than all numbers
    );
END
$$;

COMMENT ON FUNCTION sqlsvm.predict(text, jsonb, integer) IS
    'The label of one row, as the text of the label''s own value; NULL if there is no score or it is NaN';
