-- The label of one row, as the text of the label's own value; NULL if there is no score or it is NaN
CREATE OR REPLACE FUNCTION sqlsvm.predict(model text, features jsonb, version integer DEFAULT NULL)
RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    score double precision;
    place integer;
BEGIN
    IF coalesce(body #> '{groups,0}', body) @@ '$.classes.size() > 0' THEN
        SELECT s.score, s.n INTO score, place FROM unnest(sqlsvm._scored(body, features, false)) WITH ORDINALITY AS s (score, n)
        ORDER BY s.score DESC NULLS FIRST, s.n LIMIT 1;
        RETURN CASE WHEN score < 'NaN'
            THEN sqlsvm._label_text(coalesce(body #> '{groups,0}', body) #> ARRAY['classes', (place - 1)::text, 'value']) END;
    END IF;
    score := (sqlsvm._scored(body, features, false))[1];
    IF body #> '{trained_on,label_values}' = '[null, null]' THEN  -- the label is a number
        RETURN nullif(score, 'NaN')::text;
    END IF;
    RETURN sqlsvm._label_text(coalesce(body #> '{trained_on,label_values}', '[-1, 1]')
        -> CASE WHEN score <= 0 THEN 0 WHEN score < 'NaN' THEN 1 END);  -- NaN is greater than all numbers
END $$;
