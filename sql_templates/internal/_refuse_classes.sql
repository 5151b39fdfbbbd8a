-- An error for a model with more than two classes, or with groups: it has several vectors of weights, and no one score
CREATE OR REPLACE FUNCTION sqlsvm._refuse_classes(body jsonb)
RETURNS void LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kind CONSTANT text := CASE WHEN body @@ '$.classes.size() > 0' THEN 'classes' WHEN body @@ '$.groups.size() > 0' THEN 'groups' END;
BEGIN
    IF kind IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SV003', MESSAGE = format('model "%s" has %s %s, so it has no one score', body ->> 'model', jsonb_array_length(body -> kind), kind),
            HINT = CASE kind WHEN 'classes'
                THEN 'SELECT sqlsvm.predict(model, features) gives the class, sqlsvm.class_probabilities(model, features) how probable each is.'
                ELSE 'SELECT sqlsvm.predict(model, features) finds the group of a row; sqlsvm predict --sql prints the score as an expression.' END;
    END IF;
END $$;
