-- The score of one row: positive means the positive class. For many rows see score_view
CREATE OR REPLACE FUNCTION sqlsvm.decision_function(model text, features jsonb, version integer DEFAULT NULL)
RETURNS double precision LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
BEGIN
    PERFORM sqlsvm._refuse_classes(coalesce(body #> '{groups,0}' || jsonb_build_object('model', model), body));
    RETURN (sqlsvm._scored(body, features, false))[1];
END $$;
