CREATE OR REPLACE FUNCTION sqlsvm._find_program(name text)
RETURNS sqlsvm.programs
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    found_program sqlsvm.programs;
    known text;
BEGIN
    SELECT p.* INTO found_program FROM sqlsvm.programs AS p WHERE p.name = _find_program.name;
    IF found_program.name IS NULL THEN
        SELECT string_agg(format('"%s"', p.name), ', ' ORDER BY p.name) INTO known FROM sqlsvm.programs AS p;
        RAISE EXCEPTION 'there is no compiled program "%"', name USING ERRCODE = 'SV002',
            DETAIL = coalesce('there are ' || known, 'no program is stored in this database'),
            HINT = 'sqlsvm compile --dsn URL --query FILE --label COLUMN --name NAME stores one';
    END IF;
    RETURN found_program;
END
$$;

COMMENT ON FUNCTION sqlsvm._find_program(text) IS 'A compiled program by its name';
