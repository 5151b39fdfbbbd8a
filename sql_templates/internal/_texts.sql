-- The expressions of a model for its scores or its chances; an error if it has none that can run
CREATE OR REPLACE FUNCTION sqlsvm._texts(body jsonb, kind text)
RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    texts CONSTANT jsonb := nullif(body #> ARRAY['texts', kind], 'null');
BEGIN
    IF kind = 'chances' AND texts IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SV003', MESSAGE = format('model "%s" has no probability', body ->> 'model'),
            HINT = 'Fit one to rows held out: sqlsvm train --probability sigmoid --holdout 0.2';
    ELSIF texts IS NULL OR texts @> 'null' THEN
        RAISE EXCEPTION USING ERRCODE = 'SV008', MESSAGE = format('model "%s", version %s: there is no score in SQL', body ->> 'model', body ->> 'version'),
            HINT = 'Type sqlsvm upgrade --dsn URL; or restore the model, or train it again.';
    END IF;
    RETURN ARRAY(SELECT jsonb_array_elements_text(texts));
END $$;
