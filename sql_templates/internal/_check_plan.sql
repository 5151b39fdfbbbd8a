-- The name of a check says what is wrong if it counts more than 0 rows.
CREATE OR REPLACE FUNCTION sqlsvm._check_plan(p sqlsvm._problem, answers jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    failed text := (SELECT min(a.key) FROM jsonb_each(answers) AS a WHERE (a.value -> 0 ->> 'n')::float8 > 0);
    rows text := to_char((answers -> failed -> 0 ->> 'n')::float8, 'FM999,999,999,999,990');
    about text := coalesce(answers -> failed -> 0 ->> 'about', substr(failed, strpos(failed, ' ') + 1));
BEGIN
    CASE split_part(failed, ' ', 1)
    WHEN 'unique' THEN
        RAISE EXCEPTION 'the key % is no longer unique', about USING ERRCODE = 'SV004',
            DETAIL = format('%s rows repeat a key; the program "%s" was compiled for none.', rows, p.program),
            HINT = 'Compile the query again, under the same name: sqlsvm compile finds another way to count.';
    WHEN 'rounded' THEN
        RAISE EXCEPTION 'keys are compared by rounding them: %', about USING ERRCODE = 'SV004',
            DETAIL = format('%s different keys would count as equal.', rows),
            HINT = 'Compare keys as one type, by a CAST in the query, and compile it again: sqlsvm compile --name ...';
    WHEN 'types' THEN
        RAISE EXCEPTION 'keys, features or the label have other types than they had' USING ERRCODE = 'SV004',
            DETAIL = format('%s of them have another type or collation; the program "%s" was compiled for others.',
                rows, p.program),
            HINT = 'Compile the query again, under the same name: sqlsvm compile looks at what is equal to what.';
    WHEN 'label' THEN
        RAISE EXCEPTION 'the label "%" has values that it did not have', about USING ERRCODE = 'SV004',
            DETAIL = format('%s rows are neither %s nor %s.', rows,
                p.design #>> '{trained_on,label_values,0}', p.design #>> '{trained_on,label_values,1}'),
            HINT = 'Leave those rows out in the query, and compile it again: sqlsvm compile --name ...';
    WHEN 'weight' THEN
        RAISE EXCEPTION 'the weight "%" is negative, NaN, infinite or NULL in % rows', about, rows USING ERRCODE = 'SV004',
            DETAIL = 'Nothing can be proven with such weights.',
            HINT = 'Leave those rows out in the query, or correct their weights; then compile it again.';
    WHEN 'null' THEN
        RAISE EXCEPTION 'feature "%" is NULL in % rows', about, rows USING ERRCODE = 'SV004',
            HINT = 'Compile it again with --nulls mean (use the mean of the others) or --nulls drop (leave the row out).';
    WHEN 'term' THEN
        RAISE EXCEPTION 'feature "%" is NULL in % rows', about, rows USING ERRCODE = 'SV004',
            HINT = 'Write COALESCE in that term, or compile it again with --nulls drop (leave the row out).';
    WHEN 'audited' THEN
        RAISE EXCEPTION '% is NULL in % rows, so its covariance is not known', about, rows USING ERRCODE = 'SV004',
            HINT = format('Say what that means, and compile it again: fair:COALESCE(%s, 0):..., or --nulls drop.', about);
    ELSE
        NULL;
    END CASE;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_plan(sqlsvm._problem, jsonb) IS 'Refuses data that the program was not compiled for';
