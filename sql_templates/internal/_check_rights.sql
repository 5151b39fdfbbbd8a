CREATE OR REPLACE FUNCTION sqlsvm._check_rights()
RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'a read replica keeps no models and no working tables' USING ERRCODE = 'SV006',
            HINT = 'train on the primary server';
    ELSIF NOT has_table_privilege('sqlsvm.models', 'SELECT, INSERT, UPDATE')
        OR NOT has_table_privilege('sqlsvm.versions', 'INSERT') OR NOT has_table_privilege('sqlsvm.iterations', 'INSERT') THEN
        RAISE EXCEPTION 'role "%" may not keep models', current_user USING ERRCODE = 'SV006',
            HINT = format('the owner of the schema can allow it: GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA sqlsvm TO %I',
                current_user);
    ELSIF NOT has_database_privilege(current_database(), 'TEMPORARY') THEN
        RAISE EXCEPTION 'role "%" may not make temporary tables', current_user USING ERRCODE = 'SV006',
            HINT = format('the owner of the database can allow it: GRANT TEMPORARY ON DATABASE %I TO %I',
                current_database(), current_user);
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_rights() IS 'Refuses a role that may not train, before any work is done';
