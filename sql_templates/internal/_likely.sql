-- The JSON of a model with the weights and the probability of the group that the row is in; NULL if that has none
-- Whose probability a row has: the model's, or that of its group. A row of no group has none, and one of a group whose
-- probability is not known; but a model that has none at all is an error, before a row is scored.
CREATE OR REPLACE FUNCTION sqlsvm._likely(body jsonb, features jsonb)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    part CONSTANT jsonb := sqlsvm._of_group(body, features);
BEGIN
    IF (part @@ 'exists($.probability ? (@ != null)) || exists($.classes[*].probability ? (@ != null))') IS NOT TRUE
        AND body @@ 'exists($.groups[*].probability ? (@ != null)) || exists($.groups[*].classes[*].probability ? (@ != null))'
    THEN
        RETURN NULL;
    ELSIF part @@ '$.classes.size() > 0' THEN
        PERFORM sqlsvm._probability(body, c -> 'probability', NULL) FROM jsonb_array_elements(part -> 'classes') AS c;
    ELSE
        PERFORM sqlsvm._probability(body, part -> 'probability', NULL);
    END IF;
    RETURN part;
END
$$;
