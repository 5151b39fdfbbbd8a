-- The number of a date or a time that a JSON text says, a timestamp without a zone being in UTC
CREATE OR REPLACE FUNCTION sqlsvm._time_value(feature text, value jsonb, kind text)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET TimeZone = 'UTC'
SET DateStyle = 'ISO, YMD'
AS $$
DECLARE
    said CONSTANT text := value #>> '{}';
BEGIN
    IF jsonb_typeof(value) = 'null' THEN
        RETURN value;
    ELSIF jsonb_typeof(value) <> 'string' THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV003',
            MESSAGE = format('feature "%s" has the value %s, which is no %s', feature, value, kind),
            HINT = format('Write it as a text, such as %s.', jsonb_build_object(feature,
                CASE kind WHEN 'time' THEN '12:30' WHEN 'interval' THEN '2 days' ELSE '2024-02-29' END));
    END IF;
    RETURN to_jsonb(CASE kind
        WHEN 'date' THEN CAST(EXTRACT(EPOCH FROM CAST(said AS date)) AS double precision) / 86400
        WHEN 'timestamp' THEN CAST(EXTRACT(EPOCH FROM CAST(said AS timestamp)) AS double precision) / 86400
        WHEN 'timestamptz' THEN CAST(EXTRACT(EPOCH FROM CAST(said AS timestamptz)) AS double precision) / 86400
        WHEN 'time' THEN CAST(EXTRACT(EPOCH FROM CAST(said AS time)) AS double precision)
        WHEN 'interval' THEN CAST(EXTRACT(EPOCH FROM CAST(said AS interval)) AS double precision) END);
END
$$;
