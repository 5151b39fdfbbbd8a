-- Makes the relations of a program: copies, or views where the transaction has one snapshot
-- In READ COMMITTED every statement sees new data, so one statement copies all relations from one snapshot. In a transaction
-- with a single snapshot they are read in place, unless another server has rows of theirs, which no snapshot here holds still.
CREATE OR REPLACE FUNCTION sqlsvm._sources()
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    in_place CONSTANT boolean := current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
    copied text[] := '{}';
    copies text[] := '{}';
    plan json;
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
            EXCEPTION WHEN insufficient_privilege OR wrong_object_type THEN
                NULL;  -- the rights to some columns are enough to read them, and no foreign table can be locked
            END;
            EXECUTE format('EXPLAIN (FORMAT JSON) SELECT * FROM pg_temp.%I', source.name) INTO plan;  -- this locks the parts of a table
            CONTINUE WHEN NOT plan::jsonb @? '$.**."Node Type" ? (@ == "Foreign Scan")';
            EXECUTE format('DROP VIEW pg_temp.%I', source.name);
        END IF;
        EXECUTE format('CREATE TEMPORARY TABLE %I AS %s WITH NO DATA', source.name, source.query);
        copied := copied || source.name;
        copies := copies || format('c%s AS (INSERT INTO pg_temp.%I %s)', source.place, source.name, source.query);
    END LOOP;
    IF in_place THEN
        CREATE TEMPORARY TABLE sqlsvm_read AS SELECT sqlsvm._run('still') AS still;
        PERFORM sqlsvm._check_read();
    END IF;
    IF copied <> '{}' THEN
        EXECUTE format('WITH %s SELECT', array_to_string(copies, ', '));
    END IF;
    FOR i IN 1 .. cardinality(copied) LOOP
        EXECUTE format('ANALYZE pg_temp.%I', copied[i]);
    END LOOP;
END $$;
