-- Can a feature be NULL without making the score NULL, and is each given key the name of a feature?
CREATE OR REPLACE FUNCTION sqlsvm._may_be_left_out(features jsonb, feature text, body jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    WITH known (name, may_be_missing) AS (
        SELECT w ->> 'feature', w ->> 'missing' IS NOT NULL OR w ->> 'category' IS NOT NULL AND body ->> 'nulls' <> 'drop'
        FROM jsonb_array_elements(body -> 'weights') AS w
        UNION ALL
        SELECT c, body ->> 'nulls' IN ('mean', 'mean+indicator')
        FROM jsonb_array_elements(body -> 'maps') AS m, jsonb_array_elements_text(m -> 'columns') AS c
        UNION ALL
        SELECT body ->> 'by', false WHERE body ->> 'by' IS NOT NULL
    )
    SELECT bool_or(name = feature AND may_be_missing)
        AND NOT EXISTS (
            SELECT FROM jsonb_object_keys(features) AS k (name) WHERE lower(k.name) NOT IN (SELECT lower(n.name) FROM known AS n))
    FROM known
$$;
