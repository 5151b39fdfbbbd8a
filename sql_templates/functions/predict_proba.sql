CREATE OR REPLACE FUNCTION sqlsvm.predict_proba(model text, features jsonb, version integer DEFAULT NULL)
RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
BEGIN
    PERFORM sqlsvm._refuse_classes(body), sqlsvm._probability(body, body -> 'probability', NULL);  -- there is one
    RETURN sqlsvm._probability(body, body -> 'probability', nullif(sqlsvm._score(body, features), 'NaN'));
END
$$;

COMMENT ON FUNCTION sqlsvm.predict_proba(text, jsonb, integer) IS
    'The probability that one row is of the positive class; NULL if there is no score or it is NaN';
