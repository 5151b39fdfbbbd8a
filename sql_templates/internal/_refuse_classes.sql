-- A model with more than two classes has several vectors of weights, so it has no one score.
CREATE OR REPLACE FUNCTION sqlsvm._refuse_classes(body jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF body @@ '$.classes.size() > 0' THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV003',
            MESSAGE = format('model "%s" has %s classes, so it has no one score', body ->> 'model', jsonb_array_length(body -> 'classes')),
            HINT = 'SELECT sqlsvm.predict(model, features) gives the class; sqlsvm predict --sql prints it as an expression.';
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._refuse_classes(jsonb) IS 'An error for a model with more than two classes';
