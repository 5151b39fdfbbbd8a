-- A column compares a category with the rules of its own type. In JSON a real has only the digits that distinguish it from
-- other reals, but the category is a double. Beyond this range it may be no real at all, and the cast an error.
CREATE OR REPLACE FUNCTION sqlsvm._spellings(category jsonb, spelling text, value jsonb)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN value IS NULL THEN ARRAY[category #>> '{}']
        WHEN jsonb_typeof(category) = 'boolean' THEN ARRAY[CASE category WHEN 'true' THEN '1' ELSE '0' END]
        WHEN jsonb_typeof(category) = 'number'
            THEN ARRAY[category #>> '{}'] || CASE WHEN abs(category::numeric) BETWEEN 1e-37 AND 1e38 THEN
                CASE WHEN category::float4::float8 = category::float8 THEN ARRAY[category::float4::text::numeric::text] END END
        WHEN spelling = 'caseless' THEN ARRAY[lower(category #>> '{}')]
        ELSE ARRAY[category #>> '{}']
    END
$$;

COMMENT ON FUNCTION sqlsvm._spellings(jsonb, text, jsonb) IS
    'The texts that are compared with a value to find its category; 7, 7.0 and "7" are the category 7';
