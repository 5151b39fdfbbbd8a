CREATE OR REPLACE FUNCTION sqlsvm._value_sql(feature text, value jsonb, missing text, is_boolean boolean)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT sqlsvm._or_missing(CASE
        WHEN value IS NOT NULL THEN format('CAST(%L AS double precision)', sqlsvm._number_of(feature, value, is_boolean))
        WHEN is_boolean THEN format('CASE WHEN %1$I THEN 1 WHEN NOT %1$I THEN 0 END', feature)
        ELSE format('CAST(%I AS double precision)', feature)
    END, missing)
$$;

COMMENT ON FUNCTION sqlsvm._value_sql(text, jsonb, text, boolean) IS
    'A numeric feature as an expression: its value, or the column if there is no value';
