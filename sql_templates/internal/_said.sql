-- A value of a feature as a text of a type; NULL for JSON null
CREATE OR REPLACE FUNCTION sqlsvm._said(feature text, value jsonb, type text)
RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said CONSTANT text := value #>> '{}';
    plain CONSTANT text := lower(btrim(said, E' \t\n\r'));
    is_number CONSTANT boolean := type IN ('double precision', 'numeric');
BEGIN
    IF said IS NULL OR type = 'text' OR NOT is_number AND type <> 'boolean' AND jsonb_typeof(value) = 'string' THEN
        RETURN said;
    ELSIF (is_number OR type = 'boolean') AND jsonb_typeof(value) = 'boolean'
        OR type = 'boolean' AND plain ~ '^(t|tr|tru|true|y|ye|yes|on|1|f|fa|fal|fals|false|n|no|of|off|0)$' THEN
        RETURN CASE WHEN plain ~ '^(t|y|on|1)' THEN '1' ELSE '0' END;
    ELSIF (is_number OR type = 'boolean' AND jsonb_typeof(value) = 'number')
        AND plain ~ '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[-+]?[0-9]+)?$|^nan$|^[-+]?inf(inity)?$' THEN
        RETURN CASE WHEN is_number THEN plain WHEN plain::numeric = 0 THEN '0' ELSE '1' END;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'SV003', MESSAGE = format('feature "%s" has the value %s, which is no %s', feature, value, CASE WHEN is_number THEN 'number' ELSE type END),
        HINT = format(CASE WHEN is_number OR type = 'boolean' THEN 'Write %s.' ELSE 'Write it as a text, such as %s.' END,
            jsonb_build_object(feature, CASE WHEN is_number THEN '1.5'::jsonb WHEN type = 'boolean' THEN 'true'
                WHEN type = 'time' THEN '"12:30"' WHEN type = 'interval' THEN '"2 days"' ELSE '"2024-02-29"' END));
END $$;
