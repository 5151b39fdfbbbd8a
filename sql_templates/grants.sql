-- The roles are in settings, so that this file can be run unchanged:
--     SET sqlsvm.reader = 'analyst'; SET sqlsvm.trainer = 'etl'; \i grants.sql
DO $$
DECLARE
    reader CONSTANT text := nullif(current_setting('sqlsvm.reader', true), '');
    trainer CONSTANT text := nullif(current_setting('sqlsvm.trainer', true), '');
    kept_by_training CONSTANT text := (
        SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'sqlsvm'::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_version'
    );
    grantee text;
BEGIN
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
END
$$;
