-- If a model does not say which features are padded, all of them may be.
CREATE OR REPLACE FUNCTION sqlsvm._stored_weights(body jsonb)
RETURNS TABLE (
    place bigint, feature text, category jsonb, weight text, missing text, is_boolean boolean, spelling text, is_first boolean
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT w.place, w.entry ->> 'feature', nullif(w.entry -> 'category', 'null'), w.entry ->> 'weight',
        w.entry ->> 'missing', coalesce(body #> '{trained_on,booleans}' ? (w.entry ->> 'feature'), false),
        CASE WHEN body #> '{trained_on,caseless}' ? (w.entry ->> 'feature') THEN 'caseless'
            WHEN coalesce(body #> '{trained_on,padded}' ? (w.entry ->> 'feature'), true) THEN 'padded' ELSE 'exact' END,
        w.place = min(w.place) OVER (PARTITION BY w.entry ->> 'feature')
    FROM jsonb_array_elements(body -> 'weights') WITH ORDINALITY AS w (entry, place)
$$;

COMMENT ON FUNCTION sqlsvm._stored_weights(jsonb) IS
    'The weights of a model in order. Numbers are the stored texts, which are exact doubles';
