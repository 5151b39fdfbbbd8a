-- The probability that one row is of the positive class; NULL if there is no score or it is NaN
CREATE OR REPLACE FUNCTION sqlsvm.predict_proba(model text, features jsonb, version integer DEFAULT NULL)
RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    part jsonb;
BEGIN
    PERFORM sqlsvm._refuse_classes(coalesce(body #> '{groups,0}' || jsonb_build_object('model', model), body));
    part := sqlsvm._likely(body, features);
    RETURN CASE WHEN part IS NOT NULL
        THEN sqlsvm._probability(body, part -> 'probability', nullif(sqlsvm._score(part, features), 'NaN')) END;
END
$$;
