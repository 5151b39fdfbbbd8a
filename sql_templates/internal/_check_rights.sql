-- Refuses a role that may not train, before any work is done
CREATE OR REPLACE FUNCTION sqlsvm._check_rights()
RETURNS void LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM sqlsvm._require('trainer');
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'a read replica keeps no models and no working tables' USING ERRCODE = 'SV006',
            HINT = 'Train on the primary server.';
    ELSIF NOT has_database_privilege(current_database(), 'TEMPORARY') THEN
        RAISE EXCEPTION 'role "%" may not make temporary tables', current_user USING ERRCODE = 'SV006',
            HINT = format('The owner of the database can run: GRANT TEMPORARY ON DATABASE %I TO %I;',
                current_database(), current_user);
    END IF;
END $$;
