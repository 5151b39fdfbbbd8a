CREATE OR REPLACE FUNCTION sqlsvm._check_rows(p sqlsvm._problem, unlabelled float8)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF unlabelled > 0 THEN
        RAISE EXCEPTION 'the label "%" is NULL in % rows of the join', p.label, unlabelled USING ERRCODE = 'SV004',
            HINT = 'Leave them out: WHERE ... IS NOT NULL in the query, or sqlsvm compile --nulls drop.';
    ELSIF NOT p.n > 0 THEN
        RAISE EXCEPTION 'the join of "%" has no rows', p.program USING ERRCODE = 'SV004',
            HINT = 'sqlsvm inspect shows which key loses them.';
    ELSIF NOT p.n_negative > 0 OR NOT p.n > p.n_negative THEN
        RAISE EXCEPTION 'the label "%" has one class only', p.label USING ERRCODE = 'SV004',
            DETAIL = format('No row of the join is %s.', CASE WHEN p.n_negative > 0 THEN 'positive' ELSE 'negative' END),
            HINT = 'sqlsvm inspect shows the classes before and after the join.';
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_rows(sqlsvm._problem, float8) IS 'Refuses no rows, one class, and rows without a label';
