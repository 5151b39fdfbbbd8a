-- Refuses tables that changed in a way that no snapshot hides where they are read in place: TRUNCATE, another partition or function
CREATE OR REPLACE FUNCTION sqlsvm._check_read()
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before jsonb;
    given sqlsvm._given;
    moved text;
BEGIN
    IF to_regclass('pg_temp.sqlsvm_read') IS NULL THEN
        RETURN;
    END IF;
    SELECT r.still INTO before FROM pg_temp.sqlsvm_read AS r;
    given.theta := ARRAY(SELECT l.oid::float8 FROM jsonb_array_elements_text(before #> '{locked,0,found}') AS l (oid));
    moved := coalesce(sqlsvm._run('moved', given) #>> '{moved,0,said}', CASE WHEN
        sqlsvm._run('still') -> 'defined' <> before -> 'defined' THEN 'a function that is called was replaced' END);
    IF moved IS NOT NULL THEN
        RAISE EXCEPTION '% after this transaction had begun', moved
            USING ERRCODE = 'SV009', DETAIL = 'The transaction sees other tables as they were before that.',
                HINT = 'End the transaction, and do this again.';
    END IF;
END $$;
