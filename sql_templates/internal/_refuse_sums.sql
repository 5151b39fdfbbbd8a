CREATE OR REPLACE FUNCTION sqlsvm._refuse_sums(program sqlsvm.programs, what text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    feature text := (SELECT c ->> 'feature' FROM jsonb_array_elements(program.description -> 'coordinates') AS c
        WHERE c ->> 'role' = 'term' LIMIT 1);
BEGIN
    IF feature IS NOT NULL THEN
        RAISE EXCEPTION '% features of one table, and "%" adds up several', what, feature USING ERRCODE = 'SV003',
            HINT = 'Leave it out of the query, and compile it under another name.';
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._refuse_sums(sqlsvm.programs, text) IS 'Refuses a program with a sum over several tables';
