-- A category of a type as a text that all of its spellings share
-- 7, 7.0 and 7.00 are one number, 'Red' and 'red' one citext. A text that is not a number is a category that no row has.
CREATE OR REPLACE FUNCTION sqlsvm._category_key(said text, type name)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE
        WHEN type = 'citext' THEN lower(said)
        WHEN type IN ('numeric', 'float4', 'float8') AND said ~* '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[-+]?[0-9]{1,3})?$'
            THEN trim_scale(said::numeric)::text
        ELSE said
    END
$$;
