-- Refuses a program whose label is a number and, if rows are counted by feature, a sum over several tables
CREATE OR REPLACE FUNCTION sqlsvm._check_counts(program sqlsvm.programs, what text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    feature text := (SELECT c ->> 'feature' FROM jsonb_array_elements(program.description -> 'coordinates') AS c
        WHERE c ->> 'role' = 'term' LIMIT 1);
BEGIN
    IF (program.description ->> 'numeric')::boolean THEN
        RAISE EXCEPTION 'this counts the rows of two classes, and the label "%" is a number', program.label USING ERRCODE = 'SV003',
            HINT = format('SELECT * FROM sqlsvm.evaluate(%L); says how far scores are off.', program.name);
    ELSIF what IS NOT NULL AND feature IS NOT NULL THEN
        RAISE EXCEPTION '% features of one table, and "%" adds up several', what, feature USING ERRCODE = 'SV003',
            HINT = 'Leave it out of the query, and compile it under another name.';
    END IF;
END
$$;
