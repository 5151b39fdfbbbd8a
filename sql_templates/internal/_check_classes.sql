CREATE OR REPLACE FUNCTION sqlsvm._check_classes(program sqlsvm.programs)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (program.description ->> 'numeric')::boolean THEN
        RAISE EXCEPTION 'this counts the rows of two classes, and the label "%" is a number', program.label USING ERRCODE = 'SV003',
            HINT = format('SELECT * FROM sqlsvm.evaluate(%L); says how far scores are off.', program.name);
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_classes(sqlsvm.programs) IS 'Refuses a program whose label is a number';
