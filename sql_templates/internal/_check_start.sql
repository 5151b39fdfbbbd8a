-- Refuses a start of a wrong form, or with numbers that are out of range
-- psql/stored_program/start.py has made it. Whatever is stored there, a training proves what it says. But with numbers of another
-- kind it could fail anywhere.
CREATE OR REPLACE FUNCTION sqlsvm._check_start(program sqlsvm.programs)
RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong CONSTANT text := (
        SELECT min(t.field) FROM (VALUES
            ('objective', jsonpath '$.objective >= 0 && $.objective < 1e100'),
            ('width', '$.width >= 0 && $.width < 1e100'),
            ('density', '$.density >= 0 && $.density < 1e100'),
            ('grain', '$.grain >= 0 && $.grain < 1e100'),
            ('unit', '$.unit > 0 && $.unit < 1e100'),
            ('at_zero', '$.at_zero >= 0 && $.at_zero < 1e200'),
            ('curvature', '$.curvature >= 0 && $.curvature < 1e100'),
            ('rest', '$.rest >= 0 && $.rest < 1e100'),
            ('heap', '$.heap.type() == "boolean"'),
            ('columns', '$.columns > 0 && $.columns < 1e6'),
            ('values', '$.values.type() == "array" && !exists($.values[*] ? (!(@ >= 0 && @ < 1e100)))'),
            ('vectors', '$.vectors.type() == "array" && !exists($.vectors[*] ? (!(@ >= -1.01 && @ <= 1.01)))
                && $.vectors.size() == $.values.size() * $.columns'),
            ('theta', '$.theta.type() == "object"
                && !exists($.theta.** ? (!(@.type() == "object" || @.type() == "boolean" || (@.type() == "number" && @.abs() < 1e100))))'),
            ('places', '$.places.type() == "object"
                && !exists($.places.** ? (!(@.type() == "object" || @.type() == "boolean" || (@.type() == "number" && @.abs() < 1e6))))')) AS t (field, test)
        WHERE (program.start @@ t.test) IS NOT TRUE);
BEGIN
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'the program "%" is damaged: what is stored of its start has no valid "%"', program.name, wrong
            USING ERRCODE = 'SV002',
                HINT = format('Compile it again: sqlsvm compile --name %L --label %L --query ...', program.name, program.label);
    END IF;
END $$;
