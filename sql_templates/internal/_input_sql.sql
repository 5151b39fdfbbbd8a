-- A numeric feature as an expression: its value, or its column as a number if there is no value
-- A date or a timestamp is days since 1970, a time or an interval seconds.
CREATE OR REPLACE FUNCTION sqlsvm._input_sql(body jsonb, feature text, value jsonb, is_boolean boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    time CONSTANT text := body #>> ARRAY['trained_on', 'times', feature];
BEGIN
    RETURN CASE
        WHEN value IS NOT NULL THEN format('CAST(%L AS double precision)', sqlsvm._number_of(feature, value, is_boolean))
        WHEN time IN ('date', 'timestamp', 'timestamptz') THEN format('(CAST(EXTRACT(EPOCH FROM %I) AS double precision) / 86400)', feature)
        WHEN time IN ('time', 'interval') THEN format('CAST(EXTRACT(EPOCH FROM %I) AS double precision)', feature)
        WHEN is_boolean THEN format('CASE WHEN %1$I THEN 1 WHEN NOT %1$I THEN 0 END', feature)
        ELSE format('CAST(%I AS double precision)', feature)
    END;
END
$$;
