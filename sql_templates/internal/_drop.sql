-- Removes the working tables of parts of a program
CREATE OR REPLACE FUNCTION sqlsvm._drop(VARIADIC parts text[])
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    working record;
BEGIN
    FOR working IN
        SELECT c.relname AS name, c.relkind AS kind FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = pg_catalog.pg_my_temp_schema() AND c.relkind IN ('r', 'v') AND c.relname IN (
            SELECT s.working_table FROM pg_temp.sqlsvm_statements AS s WHERE s.part = ANY (parts))
    LOOP
        EXECUTE format('DROP %s pg_temp.%I', CASE working.kind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, working.name);
    END LOOP;
END $$;
