-- Removes the relations and working tables of a program, and the copy of its statements
CREATE OR REPLACE FUNCTION sqlsvm._close()
RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM sqlsvm._drop('prepare', 'sources');
    DROP TABLE pg_temp.sqlsvm_statements;
END
$$;
