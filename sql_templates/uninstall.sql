-- Without CASCADE: if other objects depend on these, PostgreSQL names them and drops nothing.
DO $$
DECLARE
    path CONSTANT text := pg_catalog.current_setting('search_path');
    command text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);  -- the caller's may have operators of others
    IF to_regclass('sqlsvm.versions') IS NOT NULL THEN
        ALTER TABLE sqlsvm.versions DROP COLUMN IF EXISTS expressions;
    END IF;
    FOR command IN
        SELECT 'DROP FUNCTION ' || string_agg(p.oid::regprocedure::text, ', ') FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = 'sqlsvm'::regnamespace HAVING count(*) > 0
        UNION ALL
        SELECT CASE c.relkind WHEN 'r' THEN 'DROP TABLE ' ELSE 'DROP TYPE ' END || string_agg(c.oid::regclass::text, ', ')
        FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = 'sqlsvm'::regnamespace AND c.relkind IN ('r', 'c') GROUP BY c.relkind
        ORDER BY 1
    LOOP
        EXECUTE command;
    END LOOP;
    IF (SELECT pg_has_role(n.nspowner, 'USAGE') FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sqlsvm') THEN
        DROP SCHEMA sqlsvm;
    END IF;
    PERFORM pg_catalog.set_config('search_path', path, true);
END $$;
