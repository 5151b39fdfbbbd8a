-- The JSON of a model as it is; an error that names the first field with which the functions cannot work
-- sqlsvm/model/model.py has the rules for all fields. These are the fields that functions in SQL read. Scoring looks only at what makes a
-- score wrong, since it does so for each row, and at all weights one by one if a weight is odd.
CREATE OR REPLACE FUNCTION sqlsvm._check_body(model text, version integer, body jsonb, each_weight boolean DEFAULT false)
RETURNS jsonb LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong CONSTANT text := (
        SELECT format('%s: expected %s, found %s', c.place || c.field, c.expected,
            coalesce(left((c.holder #> string_to_array(c.field, '.'))::text, 60), 'nothing'))
        FROM (
            SELECT 0 AS n, '' AS place, body AS holder, r.* FROM (VALUES
                ('intercept', 'a finite number',
                    jsonpath '$.intercept.type() == "number" && $.intercept.abs() <= 1.7976931348623157e308'),
                ('base', 'a finite number or null', '!exists($.base) || $.base.type() == "null" || ($.base.type() == "number" && $.base.abs() <= 1.7976931348623157e308)'),
                ('scaling', 'origins that are numbers', '!exists($.scaling.*.origin ? (@.type() != "number"))'),
                ('nulls', 'text', '$.nulls.type() == "string"'),
                ('trained_on.label_values', 'a list of 2',
                    '!exists($.trained_on.label_values ? (@ != null)) || $.trained_on.label_values.size() == 2 || exists($.classes[2]) || exists($.groups[*].classes[2])'),
                ('support', 'no kernel machine, which sqlsvm predict knows', '!exists($.support ? (@ != null))'),
                ('weights', 'a list', '$.weights.type() == "array"')) AS r (field, expected, test)
            UNION ALL
            SELECT w.n, format('weights[%s].', w.n - 1), w.entry, r.*
            FROM jsonb_path_query(body, '$.weights[*]') WITH ORDINALITY AS w (entry, n), (VALUES
                ('feature', 'text', jsonpath '$.feature.type() == "string"'),
                ('category', 'a value', 'exists($.category) && $.category.type() != "array"
                    && ($.category.type() != "object" || $.category.other == true)'),
                ('weight', 'a finite number', '$.weight.type() == "number" && $.weight.abs() <= 1.7976931348623157e308'),
                ('scaled_weight', 'a finite number',
                    '$.scaled_weight.type() == "number" && $.scaled_weight.abs() <= 1.7976931348623157e308'),
                ('missing', 'a finite number or null', '!exists($.missing) || $.missing.type() == "null"
                    || ($.missing.type() == "number" && $.missing.abs() <= 1.7976931348623157e308)')) AS r (field, expected, test)
            WHERE each_weight OR body @@ 'exists($.weights[*] ? (!(@.weight.type() == "number" && @.feature.type() == "string")))'
        ) AS c
        WHERE (c.holder @@ c.test) IS NOT TRUE
        ORDER BY c.n
        LIMIT 1);
BEGIN
    IF body @@ '$.format > 22' THEN
        RAISE EXCEPTION USING ERRCODE = 'SV005', MESSAGE = format('model "%s", version %s: made by a newer sqlsvm (format %s; these functions read up to 22)',
                             model, version, body ->> 'format'),
            HINT = 'With a newer sqlsvm type: sqlsvm upgrade --dsn URL';
    ELSIF wrong IS NOT NULL OR body ->> 'version' IS DISTINCT FROM version::text THEN
        RAISE EXCEPTION USING ERRCODE = 'SV008', MESSAGE = format('model "%s", version %s: %s', model, version, CASE
                WHEN jsonb_typeof(body) <> 'object' THEN 'not a JSON object'
                ELSE coalesce(wrong, format('version: found %s', coalesce(body ->> 'version', 'nothing'))) END),
            HINT = format('Restore it, or train it again, or delete it: SELECT sqlsvm.drop_model(%L, %s);', model, version);
    END IF;
    RETURN body;
END $$;
