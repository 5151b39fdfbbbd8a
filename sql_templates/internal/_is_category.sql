-- A padded text is the same without the blanks at its end. A real is trained on as the double that it is, and stands in JSON
-- with the digits that tell it from other reals.
CREATE OR REPLACE FUNCTION sqlsvm._is_category(feature text, value jsonb, category jsonb, spelling text)
RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT CASE jsonb_typeof(category)
        WHEN 'string' THEN CASE spelling
            WHEN 'padded' THEN (value #>> '{}')::bpchar = (category #>> '{}')::bpchar
            WHEN 'caseless' THEN lower(value #>> '{}') = lower(category #>> '{}')
            ELSE value #>> '{}' = category #>> '{}' END
        WHEN 'boolean' THEN sqlsvm._number_of(feature, value, true)::numeric
            = CASE category WHEN 'true' THEN 1 ELSE 0 END
        ELSE sqlsvm._number_of(feature, value, false)::numeric
            IN (category::numeric, sqlsvm._real_digits(category::numeric))
    END
$$;

COMMENT ON FUNCTION sqlsvm._is_category(text, jsonb, jsonb, text) IS
    'Whether a value is a category, compared as what the category is: 7, 7.0 and "7" are the category 7; NULL is none';
