COMMENT ON SCHEMA sqlsvm IS 'Linear support vector machines that sqlsvm trained over joins';

-- pg_dump keeps the rows of these tables, except the form of the tables, which the script sets. Each call is a statement of
-- its own, because all of them change the same row of the catalog.
DO $$
DECLARE
    kept oid;
BEGIN
    FOR kept IN
        SELECT c.oid FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'sqlsvm'::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_version'
        ORDER BY c.relname
    LOOP
        PERFORM pg_catalog.pg_extension_config_dump(kept, '');
    END LOOP;
END $$;
