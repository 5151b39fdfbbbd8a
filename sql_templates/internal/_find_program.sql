-- A compiled program by name
CREATE OR REPLACE FUNCTION sqlsvm._find_program(name text)
RETURNS sqlsvm.programs LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names text[];
    program sqlsvm.programs;
BEGIN
    PERFORM sqlsvm._require('reader');
    SELECT p.* INTO program FROM sqlsvm.programs AS p WHERE p.name = _find_program.name;
    IF program.name IS NULL THEN
        names := ARRAY(SELECT p.name FROM sqlsvm.programs AS p ORDER BY p.name);
        RAISE EXCEPTION 'there is no compiled program %', coalesce('"' || name || '"', 'NULL') USING ERRCODE = 'SV002',
            DETAIL = CASE WHEN cardinality(names) = 0 THEN 'No program is stored in this database.'
                ELSE format('There are %s.', array_to_string(names, ', ')) END,
            HINT = coalesce('Did you mean ' || sqlsvm._nearest(name, names) || '? ', '')
                || 'sqlsvm compile --dsn URL --query FILE --label COLUMN --name NAME stores one.';
    END IF;
    RETURN program;
END $$;
