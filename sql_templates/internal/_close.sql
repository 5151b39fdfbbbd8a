-- Removes the relations and working tables of a program, and the copy of its statements
CREATE OR REPLACE FUNCTION sqlsvm._close()
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM sqlsvm._check_read();
    IF to_regclass('pg_temp.sqlsvm_read') IS NOT NULL THEN
        DROP TABLE pg_temp.sqlsvm_read;
    END IF;
    PERFORM sqlsvm._drop('prepare', 'sources');
    DROP TABLE pg_temp.sqlsvm_statements;
    PERFORM set_config(s.key, s.value, true) FROM jsonb_each_text(current_setting('sqlsvm.before')::jsonb) AS s;
END $$;
