-- The value of a feature as the text of a number, 1 or 0 for a boolean; NULL for JSON null
CREATE OR REPLACE FUNCTION sqlsvm._number_of(feature text, value jsonb, is_boolean boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said CONSTANT text := lower(btrim(value #>> '{}', E' \t\n\r'));
BEGIN
    IF said IS NULL THEN
        RETURN NULL;
    ELSIF is_boolean AND jsonb_typeof(value) = 'string' THEN
        IF said ~ '^(t|tr|tru|true|y|ye|yes|on|1)$' THEN
            RETURN '1';
        ELSIF said ~ '^(f|fa|fal|fals|false|n|no|of|off|0)$' THEN
            RETURN '0';
        END IF;
    ELSIF jsonb_typeof(value) = 'boolean' THEN
        RETURN CASE said WHEN 'true' THEN '1' ELSE '0' END;
    ELSIF said ~ '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[-+]?[0-9]+)?$|^nan$|^[-+]?inf(inity)?$' THEN
        RETURN said;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'SV003',
        MESSAGE = format('feature "%s" has the value %s, which is no %s', feature, value,
                         CASE WHEN is_boolean THEN 'boolean' ELSE 'number' END),
        HINT = format('Write %s.', jsonb_build_object(feature, CASE WHEN is_boolean THEN 'true'::jsonb ELSE '1.5' END));
END
$$;
