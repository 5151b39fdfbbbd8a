-- The value of a feature, found by its exact name, else ignoring case; JSON null if its value is unknown
CREATE OR REPLACE FUNCTION sqlsvm._feature_value(features jsonb, feature text, may_be_left_out boolean)
RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names text[];
    found jsonb;
BEGIN
    IF jsonb_typeof(features) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'SV003', MESSAGE = format('the features are not a JSON object but of type %s', jsonb_typeof(features)),
            HINT = format('Write %s, or to_jsonb(t) for a row of a table t.', jsonb_build_object(feature, 1));
    END IF;
    found := features -> feature;
    IF found IS NULL THEN
        SELECT f.value INTO found FROM jsonb_each(features) AS f WHERE lower(f.key) = lower(feature) ORDER BY f.key LIMIT 1;
    END IF;
    IF found IS NULL AND may_be_left_out THEN
        RETURN 'null';
    ELSIF found IS NULL THEN
        names := ARRAY(SELECT jsonb_object_keys(features));
        RAISE EXCEPTION USING ERRCODE = 'SV003', MESSAGE = format('the features have no "%s", which the model needs', feature),
            HINT = coalesce('Is it "' || sqlsvm._nearest(feature, names) || '"? ', '')
                || format('A value that is not known is written %s.', jsonb_build_object(feature, NULL));
    END IF;
    IF jsonb_typeof(found) IN ('object', 'array') THEN
        RAISE EXCEPTION USING ERRCODE = 'SV003', MESSAGE = format('feature "%s" is of type %s', feature, jsonb_typeof(found)),
            HINT = 'A feature is a number, a text, true, false or null.';
    END IF;
    RETURN found;
END $$;
