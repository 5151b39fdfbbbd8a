CREATE OR REPLACE FUNCTION sqlsvm._may_be_left_out(features jsonb, feature text, body jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT bool_or(w.entry ->> 'feature' = feature
            AND (w.entry ->> 'missing' IS NOT NULL OR w.entry ->> 'category' IS NOT NULL AND body ->> 'nulls' <> 'drop'))
        AND NOT EXISTS (
            SELECT FROM jsonb_object_keys(features) AS k (name)
            WHERE lower(k.name) NOT IN (SELECT lower(e ->> 'feature') FROM jsonb_array_elements(body -> 'weights') AS e))
    FROM jsonb_array_elements(body -> 'weights') AS w (entry)
$$;

COMMENT ON FUNCTION sqlsvm._may_be_left_out(jsonb, text, jsonb) IS
    'Can a feature be NULL without making the score NULL, and is each given key the name of a feature?';
