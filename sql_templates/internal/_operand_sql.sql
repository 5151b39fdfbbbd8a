CREATE OR REPLACE FUNCTION sqlsvm._operand_sql(feature text, value jsonb, category jsonb, spelling text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN value IS NULL THEN format('%I', feature)
        WHEN jsonb_typeof(category) <> 'string'
            THEN format('CAST(%L AS numeric)', sqlsvm._number_of(feature, value, jsonb_typeof(category) = 'boolean'))
        WHEN spelling = 'padded' THEN format('CAST(%L AS bpchar)', value #>> '{}')
        WHEN spelling = 'caseless' THEN format('CAST(%L AS text)', lower(value #>> '{}'))
        ELSE format('CAST(%L AS text)', value #>> '{}')
    END
$$;

COMMENT ON FUNCTION sqlsvm._operand_sql(text, jsonb, jsonb, text) IS
    'The value as the type of the categories that it is compared with; the column if there is no value';
