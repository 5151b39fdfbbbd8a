-- Without CASCADE: what others have built on it keeps it where it is, and PostgreSQL names it.
DO $$
DECLARE
    routines CONSTANT text := (SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_catalog.pg_proc AS p
                               WHERE p.pronamespace = 'sqlsvm'::regnamespace);
    tables CONSTANT text := (SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_catalog.pg_class AS c
                             WHERE c.relnamespace = 'sqlsvm'::regnamespace AND c.relkind = 'r');
    types CONSTANT text := (SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_catalog.pg_class AS c
                            WHERE c.relnamespace = 'sqlsvm'::regnamespace AND c.relkind = 'c');
BEGIN
    IF routines IS NOT NULL THEN
        EXECUTE 'DROP FUNCTION ' || routines;
    END IF;
    IF tables IS NOT NULL THEN
        EXECUTE 'DROP TABLE ' || tables;
    END IF;
    IF types IS NOT NULL THEN
        EXECUTE 'DROP TYPE ' || types;
    END IF;
    IF (SELECT pg_has_role(n.nspowner, 'USAGE') FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sqlsvm') THEN
        DROP SCHEMA sqlsvm;
    END IF;
END
$$;
