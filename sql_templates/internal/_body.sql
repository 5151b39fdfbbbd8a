-- The stored JSON of a version of a model with its score, if it is one that can be used; the newest version if version is NULL
-- Scoring calls this for each row. There is no EXCEPTION block: parallel workers cannot start one.
CREATE OR REPLACE FUNCTION sqlsvm._body(model text, version integer)
RETURNS jsonb LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stored text;
    expressions jsonb;
    number integer;
    body jsonb;
BEGIN
    PERFORM sqlsvm._require('reader');
    SELECT v.body, v.version, v.expressions INTO stored, number, expressions
    FROM sqlsvm.versions AS v
    WHERE v.name = model AND (_body.version IS NULL OR v.version = _body.version)
    ORDER BY v.version DESC
    LIMIT 1;
    IF NOT FOUND THEN
        PERFORM sqlsvm._unknown(model, version);
    END IF;
    body := CASE WHEN stored LIKE '{%}' OR stored ~ '^[[:space:]]*[{].*[}][[:space:]]*$' THEN stored::jsonb ELSE to_jsonb(stored) END;
    RETURN sqlsvm._check_body(model, number, body) || jsonb_build_object('texts', expressions);
END $$;
