-- The probability of each class for one row; they add up to 1, and are NULL if there is no score or it is NaN
CREATE OR REPLACE FUNCTION sqlsvm.class_probabilities(model text, features jsonb, version integer DEFAULT NULL)
RETURNS TABLE (class text, probability double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    first CONSTANT jsonb := coalesce(body #> '{groups,0}', body);
    part jsonb;
BEGIN
    IF (first @@ '$.classes.size() > 0') IS NOT TRUE THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV003',
            MESSAGE = format('model "%s" has no more than two classes', model),
            HINT = 'SELECT sqlsvm.predict_proba(model, features) gives the probability of the positive one.';
    END IF;
    part := sqlsvm._likely(body, features);
    RETURN QUERY
        WITH scored AS MATERIALIZED (
            SELECT n, sqlsvm._label_text(c -> 'value') AS said, CASE WHEN part IS NOT NULL THEN sqlsvm._probability(body,
                c -> 'probability', nullif(sqlsvm._score(part || c || '{"classes": []}', features), 'NaN')) END AS own
            FROM jsonb_array_elements(coalesce(part, first) -> 'classes') WITH ORDINALITY AS r (c, n)
        )
        SELECT said, CASE WHEN sum(own) OVER () = 0 THEN 1::float8 / count(*) OVER () ELSE own / sum(own) OVER () END
        FROM scored
        ORDER BY n;
END
$$;
