-- Makes the relations of a program: copies, or views where the transaction has one snapshot
-- In READ COMMITTED every statement sees new data, so one statement copies all relations from one snapshot. In a transaction
-- with a single snapshot they are read in place.
CREATE OR REPLACE FUNCTION sqlsvm._sources()
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    in_place boolean := current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
    copies text[] := '{}';
    source record;
BEGIN
    FOR source IN
        SELECT s.place, s.working_table AS name, s.text AS query
        FROM pg_temp.sqlsvm_statements AS s WHERE s.part = 'sources' ORDER BY s.place
    LOOP
        IF in_place THEN
            EXECUTE format('CREATE TEMPORARY VIEW %I AS %s', source.name, source.query);
            BEGIN
                EXECUTE format('LOCK TABLE pg_temp.%I IN ACCESS SHARE MODE', source.name);
            EXCEPTION WHEN insufficient_privilege THEN
                NULL;  -- the rights to some columns are enough to read them
            END;
            EXECUTE format('EXPLAIN SELECT FROM pg_temp.%I', source.name);  -- a plan locks the parts of a table
        ELSE
            EXECUTE format('CREATE TEMPORARY TABLE %I AS %s WITH NO DATA', source.name, source.query);
            copies := copies || format('c%s AS (INSERT INTO pg_temp.%I %s)', source.place, source.name, source.query);
        END IF;
    END LOOP;
    IF in_place THEN
        CREATE TEMPORARY TABLE sqlsvm_read AS SELECT sqlsvm._run('still') AS still;
        PERFORM sqlsvm._check_read();
    ELSE
        EXECUTE format('WITH %s SELECT', array_to_string(copies, ', '));
        FOR source IN
            SELECT s.working_table AS name FROM pg_temp.sqlsvm_statements AS s WHERE s.part = 'sources'
        LOOP
            EXECUTE format('ANALYZE pg_temp.%I', source.name);
        END LOOP;
    END IF;
END $$;
