-- The stored JSON of a version of a model with its score, if it is one that can be used; the newest version if version is NULL
-- Scoring calls this for each row. So it asks only what makes a score wrong, and _check_body names the field. There is no
-- EXCEPTION block: parallel workers cannot start one.
CREATE OR REPLACE FUNCTION sqlsvm._body(model text, version integer)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
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
    IF NOT (stored LIKE '{%}' OR stored ~ '^[[:space:]]*[{].*[}][[:space:]]*$') THEN
        RETURN sqlsvm._check_body(model, number, to_jsonb(stored));
    END IF;
    body := stored::jsonb;
    IF (body @@ '$.format > 20') IS NOT TRUE AND body ->> 'version' = number::text AND body @@
        '$.intercept.type() == "number" && $.nulls.type() == "string" && $.weights.type() == "array"
            && (!exists($.trained_on.label_values ? (@ != null)) || $.trained_on.label_values.size() == 2 || exists($.classes[2]) || exists($.groups[*].classes[2]))
            && !exists($.base ? (@ != null && @.type() != "number")) && !exists($.scaling.*.origin ? (@.type() != "number"))
            && !exists($.support ? (@ != null)) && !exists($.weights[*] ? (!(@.weight.type() == "number" && @.feature.type() == "string")))'
    THEN
        RETURN body || jsonb_build_object('texts', expressions);
    END IF;
    RETURN sqlsvm._check_body(model, number, body);
END
$$;
