CREATE OR REPLACE FUNCTION sqlsvm._is_category(feature text, value jsonb, category jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT CASE jsonb_typeof(category)
        WHEN 'string' THEN value #>> '{}' = category #>> '{}'
        WHEN 'boolean' THEN sqlsvm._number_of(feature, value, true)::numeric
            = CASE category WHEN 'true' THEN 1 ELSE 0 END
        ELSE sqlsvm._number_of(feature, value, false)::numeric = category::numeric
    END
$$;

COMMENT ON FUNCTION sqlsvm._is_category(text, jsonb, jsonb) IS
    'Whether a value is a category, compared as what the category is: 7, 7.0 and "7" are the category 7; NULL is none';
