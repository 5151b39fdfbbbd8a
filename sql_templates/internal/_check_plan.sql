-- Refuses data that the program was not compiled for: the name of a check says what is wrong if it counts more than 0 rows
CREATE OR REPLACE FUNCTION sqlsvm._check_plan(p sqlsvm._problem, answers jsonb)
RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    failed CONSTANT text := (SELECT min(a.key) FROM jsonb_each(answers) AS a WHERE (a.value -> 0 ->> 'n')::float8 > 0);
    rows CONSTANT text := to_char((answers -> failed -> 0 ->> 'n')::float8, 'FM999,999,999,999,990');
    about CONSTANT text := coalesce(answers -> failed -> 0 ->> 'about', substr(failed, strpos(failed, ' ') + 1));
    wrong CONSTANT text := coalesce(answers -> failed -> 0 ->> 'kind', split_part(failed, ' ', 1));
    said record;
BEGIN
    SELECT format(c.message, about, rows) AS message,
        format(c.detail, rows, p.program, values ->> 0, values ->> 1) AS detail, format(c.hint, about) AS hint
    INTO said
    FROM (SELECT p.design #> '{trained_on,label_values}') AS trained (values), (VALUES
        ('unique', 'the key %1$s is no longer unique', '%1$s rows repeat a key; the program "%2$s" was compiled for none.',
            'Compile the query again, under the same name: sqlsvm compile finds another way to count.'),
        ('rounded', 'keys are compared by rounding them: %1$s', '%1$s different keys would count as equal.',
            'Compare keys as one type, by a CAST in the query, and compile it again: sqlsvm compile --name ...'),
        ('types', 'keys, features or the label have other types than they had',
            '%1$s of them have another type or collation; the program "%2$s" was compiled for others.',
            'Compile the query again, under the same name: sqlsvm compile looks at what is equal to what.'),
        ('label', 'the label "%1$s" has values that it did not have', '%1$s rows are neither %3$s nor %4$s.',
            'Leave those rows out in the query, and compile it again: sqlsvm compile --name ...'),
        ('weight', 'the weight "%1$s" is negative, NaN, infinite or NULL in %2$s rows', 'Nothing can be proven with such weights.',
            'Leave those rows out in the query, or correct their weights; then compile it again.'),
        ('null', 'feature "%1$s" is NULL in %2$s rows', 'A row with a NULL has no score.',
            'Compile it again, and a column that is not declared NOT NULL may have NULLs: --nulls mean (the mean of the others) or drop (no such row).'),
        ('term', 'feature "%1$s" is NULL in %2$s rows', 'A row with a NULL has no score.',
            'Write COALESCE in that term, or compile it again with --nulls drop (leave the row out).')) AS c (kind, message, detail, hint)
    WHERE c.kind = wrong;
    IF found THEN
        RAISE EXCEPTION USING ERRCODE = 'SV004', MESSAGE = said.message, DETAIL = said.detail, HINT = said.hint;
    END IF;
END $$;
