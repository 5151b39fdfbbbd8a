-- Raises the error for a model or a version that does not exist
CREATE OR REPLACE FUNCTION sqlsvm._unknown(model text, version integer)
RETURNS void LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names CONSTANT text[] := ARRAY(SELECT m.name FROM sqlsvm.models AS m ORDER BY m.name);
    versions CONSTANT text := (SELECT string_agg(v.version::text, ', ' ORDER BY v.version)
                               FROM sqlsvm.versions AS v WHERE v.name = model);
    is_compiled boolean := false;
BEGIN
    IF versions IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SV001', MESSAGE = format('model "%s" has no version %s', model, version),
            HINT = 'It has ' || versions || '.';
    END IF;
    IF has_table_privilege('sqlsvm.programs', 'SELECT') THEN
        is_compiled := EXISTS (SELECT FROM sqlsvm.programs AS p WHERE p.name = model);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'SV001', MESSAGE = 'there is no model ' || coalesce('"' || model || '"', 'NULL'),
        HINT = CASE
            WHEN is_compiled THEN format('It is compiled and not trained yet: SELECT * FROM sqlsvm.train(%L);', model)
            WHEN cardinality(names) = 0 THEN 'No model is stored here yet: sqlsvm train stores one.'
            ELSE coalesce('Did you mean ' || sqlsvm._nearest(model, names) || '? ', '')
                || 'SELECT model FROM sqlsvm.models(); lists all.'
        END;
END $$;
