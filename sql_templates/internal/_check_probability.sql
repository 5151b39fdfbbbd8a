CREATE OR REPLACE FUNCTION sqlsvm._check_probability(body jsonb, p jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p IS NULL OR p = 'null' THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV003',
            MESSAGE = format('model "%s" has no probability', body ->> 'model'),
            HINT = 'Fit one to rows held out: sqlsvm train --probability sigmoid --holdout 0.2';
    ELSIF (p @@ '($.method == "sigmoid" && $.slope.type() == "number" && $.offset.type() == "number")
            || ($.method == "isotonic" && $.scores.size() == $.shares.size() && exists($.shares[0])
                && !exists($.scores[*] ? (@.type() != "number")) && !exists($.shares[*] ? (@.type() != "number")))') IS NOT TRUE
    THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV008',
            MESSAGE = format('model "%s", version %s: probability: neither a sigmoid nor a curve', body ->> 'model', body ->> 'version'),
            HINT = format('Restore it, or train it again, or delete it: SELECT sqlsvm.drop_model(%L, %s);', body ->> 'model', body ->> 'version');
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_probability(jsonb, jsonb) IS 'Refuses a model without a probability, and one that was edited';
