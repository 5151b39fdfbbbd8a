-- The probability of each class for one row; they add up to 1, and are NULL if there is no score or it is NaN
CREATE OR REPLACE FUNCTION sqlsvm.class_probabilities(model text, features jsonb, version integer DEFAULT NULL)
RETURNS TABLE (class text, probability double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    classes CONSTANT jsonb := coalesce(body #> '{groups,0}', body) -> 'classes';
BEGIN
    IF (classes @@ '$.size() > 0') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'SV003', MESSAGE = format('model "%s" has no more than two classes', model),
            HINT = 'SELECT sqlsvm.predict_proba(model, features) gives the probability of the positive one.';
    END IF;
    RETURN QUERY
        WITH scored AS MATERIALIZED (
            SELECT p.n, sqlsvm._label_text(classes -> (p.n::integer - 1) -> 'value') AS said, p.own
            FROM unnest(sqlsvm._scored(body, features, true)) WITH ORDINALITY AS p (own, n)
        )
        SELECT said, CASE WHEN sum(own) OVER () = 0 THEN 1::float8 / count(*) OVER () ELSE own / sum(own) OVER () END
        FROM scored
        ORDER BY n;
END $$;
