CREATE OR REPLACE FUNCTION sqlsvm.predict_proba(model text, features jsonb, version integer DEFAULT NULL)
RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
    p CONSTANT jsonb := nullif(body -> 'probability', 'null');
BEGIN
    IF p IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV003',
            MESSAGE = format('model "%s" has no probability', model),
            HINT = 'Fit one to rows held out: sqlsvm train --probability sigmoid --holdout 0.2';
    ELSIF (p @@ '($.method == "sigmoid" && $.slope.type() == "number" && $.offset.type() == "number")
            || ($.method == "isotonic" && $.scores.size() == $.shares.size() && exists($.shares[0])
                && !exists($.scores[*] ? (@.type() != "number")) && !exists($.shares[*] ? (@.type() != "number")))') IS NOT TRUE
    THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV008',
            MESSAGE = format('model "%s", version %s: probability: neither a sigmoid nor a curve', model, body ->> 'version'),
            HINT = format('Restore it, or train it again, or delete it: SELECT sqlsvm.drop_model(%L, %s);', model, body ->> 'version');
    END IF;
    RETURN sqlsvm._probability(p, nullif(sqlsvm._score(body, features), 'NaN'));
END
$$;

COMMENT ON FUNCTION sqlsvm.predict_proba(text, jsonb, integer) IS
    'The probability that one row is of the positive class; NULL if there is no score or it is NaN';
