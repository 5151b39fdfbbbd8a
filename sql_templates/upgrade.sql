-- Drop the helpers and types of an older version first. Only our own functions use them, and CREATE OR REPLACE cannot change a
-- result type.
DO $$
DECLARE
    path CONSTANT text := pg_catalog.current_setting('search_path');
    command text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);  -- the caller's may have operators of others
    IF to_regclass('sqlsvm.versions') IS NOT NULL THEN
        ALTER TABLE sqlsvm.versions DROP COLUMN IF EXISTS expressions;  -- helpers make it: sealed.sql makes it anew
    END IF;
    FOR command IN
        SELECT 'DROP FUNCTION ' || string_agg(p.oid::regprocedure::text, ', ') FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = 'sqlsvm'::regnamespace AND starts_with(p.proname, '_')
        HAVING count(*) > 0
        UNION ALL
        SELECT 'DROP TYPE ' || string_agg(c.oid::regclass::text, ', ') FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'sqlsvm'::regnamespace AND c.relkind = 'c' AND starts_with(c.relname, '_') HAVING count(*) > 0
        ORDER BY 1
    LOOP
        EXECUTE command;
    END LOOP;
    PERFORM pg_catalog.set_config('search_path', path, true);
END $$;
