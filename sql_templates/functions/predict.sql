-- The label of one row, as the text of the label's own value; NULL if there is no score or it is NaN
CREATE OR REPLACE FUNCTION sqlsvm.predict(model text, features jsonb, version integer DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._of_group(sqlsvm._body(model, version), features);
    several CONSTANT boolean := coalesce(body @@ '$.classes.size() > 0', false);
    score double precision;
    place integer;
BEGIN
    IF several THEN
        SELECT s.score, s.n INTO score, place
        FROM (SELECT sqlsvm._score(body || c.class || '{"classes": []}', features) AS score, c.n
            FROM jsonb_array_elements(body -> 'classes') WITH ORDINALITY AS c (class, n)) AS s
        ORDER BY s.score DESC NULLS FIRST, s.n
        LIMIT 1;
        RETURN CASE WHEN score < 'NaN' THEN sqlsvm._label_text(body #> ARRAY['classes', (place - 1)::text, 'value']) END;
    END IF;
    score := sqlsvm._score(body, features);
    IF body #> '{trained_on,label_values}' = '[null, null]' THEN  -- the label is a number
        RETURN nullif(score, 'NaN')::text;
    END IF;
    RETURN sqlsvm._label_text(coalesce(body #> '{trained_on,label_values}', '[-1, 1]')
        -> CASE WHEN score <= 0 THEN 0 WHEN score < 'NaN' THEN 1 END);  -- NaN is greater than all numbers
END
$$;
