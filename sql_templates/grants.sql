-- The roles are in settings, so that this file can be run unchanged:
--     SET sqlsvm.reader = 'analyst'; SET sqlsvm.trainer = 'etl'; \i grants.sql
DO $$
DECLARE
    path CONSTANT text := pg_catalog.current_setting('search_path');
    reader text;
    trainer text;
    kept_by_training text;
    grantee text;
BEGIN
    -- The path of the caller may have operators and functions of others.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    reader := nullif(current_setting('sqlsvm.reader', true), '');
    trainer := nullif(current_setting('sqlsvm.trainer', true), '');
    kept_by_training := (
        SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'sqlsvm'::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_version'
    );
    -- PUBLIC has EXECUTE unless ALTER DEFAULT PRIVILEGES revoked it. Readers get EXECUTE on all functions, because a function
    -- that reads or writes checks the rights on the tables.
    FOREACH grantee IN ARRAY array_remove(ARRAY[reader, trainer], NULL) LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA sqlsvm TO %I', grantee);
        EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA sqlsvm TO %I', grantee);
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA sqlsvm TO %I', grantee);
    END LOOP;
    IF trainer IS NOT NULL THEN
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %s TO %I', kept_by_training, trainer);
    END IF;
    PERFORM set_config('search_path', path, true);
END $$;
