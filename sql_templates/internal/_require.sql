-- Raises an error unless this role may read, or train, and the form of the tables is known
CREATE OR REPLACE FUNCTION sqlsvm._require(role text)
RETURNS void LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known_form CONSTANT integer := 4;
    rights CONSTANT text[] := CASE role WHEN 'reader' THEN '{SELECT}' ELSE '{SELECT,INSERT,UPDATE,DELETE}' END;
    tables CONSTANT text[] := CASE role WHEN 'reader' THEN '{models,versions,iterations}'
                                        ELSE '{models,versions,iterations,states,programs,statements}' END;
    form integer;
BEGIN
    IF NOT has_table_privilege('sqlsvm.schema_version', 'SELECT') OR EXISTS (
        SELECT FROM unnest(tables) AS t, unnest(rights) AS needed WHERE NOT has_table_privilege('sqlsvm.' || t, needed)
    ) THEN
        RAISE EXCEPTION USING ERRCODE = 'SV006', MESSAGE = format('role "%s" may not %s the models of sqlsvm', current_user,
                             CASE role WHEN 'reader' THEN 'read' ELSE 'change' END),
            DETAIL = format('That needs %s on the tables in schema sqlsvm.', array_to_string(rights, ', ')),
            HINT = format('Their owner can run: GRANT %s ON ALL TABLES IN SCHEMA sqlsvm TO %I;',
                          array_to_string(rights, ', '), current_user);
    END IF;
    SELECT max(s.version) INTO form FROM sqlsvm.schema_version AS s;
    IF form > known_form THEN
        RAISE EXCEPTION USING ERRCODE = 'SV005', MESSAGE = format('the models are kept in form %s, which these functions do not know', form),
            DETAIL = format('They are of sqlsvm %s and know form %s.', sqlsvm.version(), known_form),
            HINT = 'With a newer sqlsvm type: sqlsvm upgrade --dsn URL';
    END IF;
END $$;
