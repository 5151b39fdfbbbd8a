CREATE OR REPLACE FUNCTION sqlsvm._input_sql(body jsonb, feature text, value jsonb, missing text, is_boolean boolean)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN value IS NULL AND body #> '{trained_on,times}' ? feature THEN
            sqlsvm._or_missing(sqlsvm._time_sql(format('%I', feature), body #>> ARRAY['trained_on', 'times', feature]), missing)
        ELSE sqlsvm._value_sql(feature, value, missing, is_boolean) END
$$;

COMMENT ON FUNCTION sqlsvm._input_sql(jsonb, text, jsonb, text, boolean) IS
    'A numeric feature as an expression: its value, or its column as a number if there is no value';
