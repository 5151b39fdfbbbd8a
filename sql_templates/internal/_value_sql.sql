CREATE OR REPLACE FUNCTION sqlsvm._value_sql(feature text, missing text, is_boolean boolean)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN missing IS NULL THEN v.value
        ELSE format('coalesce(%s, CAST(%L AS double precision))', v.value, missing) END
    FROM (
        SELECT CASE WHEN is_boolean THEN format('CASE WHEN %1$I THEN 1 WHEN NOT %1$I THEN 0 END', feature)
            ELSE format('CAST(%I AS double precision)', feature) END
    ) AS v (value)
$$;

COMMENT ON FUNCTION sqlsvm._value_sql(text, text, boolean) IS 'A feature that is a number, as an expression over its column';
