CREATE OR REPLACE FUNCTION sqlsvm._unknown(model text, version integer)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    names CONSTANT text[] := ARRAY(SELECT m.name FROM sqlsvm.models AS m ORDER BY m.name);
    versions CONSTANT text := (SELECT string_agg(v.version::text, ', ' ORDER BY v.version)
                               FROM sqlsvm.versions AS v WHERE v.name = model);
BEGIN
    IF versions IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV001',
            MESSAGE = format('model "%s" has no version %s', model, version),
            HINT = 'It has ' || versions || '.';
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'SV001',
        MESSAGE = 'there is no model ' || coalesce('"' || model || '"', 'NULL'),
        HINT = CASE
            WHEN cardinality(names) = 0 THEN 'No model is stored here yet: sqlsvm train stores one.'
            ELSE coalesce('Did you mean ' || sqlsvm._nearest(model, names) || '? ', '')
                || 'SELECT model FROM sqlsvm.models(); lists all.'
        END;
END
$$;

COMMENT ON FUNCTION sqlsvm._unknown(text, integer) IS 'Complains that there is no such model, or no such version of it';
