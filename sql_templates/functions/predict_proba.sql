-- The probability that one row is of the positive class; NULL if there is no score or it is NaN
CREATE OR REPLACE FUNCTION sqlsvm.predict_proba(model text, features jsonb, version integer DEFAULT NULL)
RETURNS double precision LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
BEGIN
    PERFORM sqlsvm._refuse_classes(coalesce(body #> '{groups,0}' || jsonb_build_object('model', model), body));
    RETURN (sqlsvm._scored(body, features, true))[1];
END $$;
