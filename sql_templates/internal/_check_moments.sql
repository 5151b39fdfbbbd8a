-- Refuses no rows, one class, rows without a label, and features that are not finite numbers
CREATE OR REPLACE FUNCTION sqlsvm._check_moments(p sqlsvm._problem, unlabelled float8)
RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c jsonb;
    is_sum boolean;
BEGIN
    IF unlabelled > 0 THEN
        RAISE EXCEPTION 'the label "%" is NULL in % rows of the join', p.label, unlabelled USING ERRCODE = 'SV004',
            HINT = 'Leave them out: WHERE ... IS NOT NULL in the query, or sqlsvm compile --nulls drop.';
    ELSIF NOT p.n > 0 THEN
        RAISE EXCEPTION 'the join of "%" has no rows%', p.program, coalesce(' with a "' || (p.design ->> 'weight') || '" above 0', '') USING ERRCODE = 'SV004',
            HINT = 'sqlsvm inspect shows which key loses them.';
    ELSIF p.label_total IN ('NaN', 'Infinity', '-Infinity') OR p.origin IN ('NaN', 'Infinity') THEN
        RAISE EXCEPTION 'the label "%" has numbers that are NaN, infinite or too large for a double to square', p.label
            USING ERRCODE = 'SV004', HINT = 'Leave those rows out in the query, and compile it again: sqlsvm compile --name ...';
    ELSIF NOT p.n_negative > 0 OR NOT p.n > p.n_negative THEN
        RAISE EXCEPTION 'the label "%" has one class only', p.label USING ERRCODE = 'SV004',
            DETAIL = format('No row of the join is %s.', CASE WHEN p.n_negative > 0 THEN 'positive' ELSE 'negative' END),
            HINT = 'sqlsvm inspect shows the classes before and after the join.';
    END IF;
    FOR c, is_sum IN
        SELECT i, EXISTS (SELECT FROM jsonb_array_elements(p.design -> 'coordinates') AS t
            WHERE t ->> 'role' = 'term' AND t ->> 'feature' = i ->> 'feature')
        FROM jsonb_array_elements(p.design -> 'coordinates') AS i
    LOOP
        IF p.total[(c ->> 'place')::integer] IN ('NaN', 'Infinity', '-Infinity') THEN
            RAISE EXCEPTION 'feature "%" is NaN or infinite in some rows of the join', c ->> 'feature'
                USING ERRCODE = 'SV004', HINT = 'Leave those rows out in the query, and compile it again: sqlsvm compile --name ...';
        ELSIF (p.nulls = 'error' OR is_sum) AND c ->> 'role' = 'missing' AND p.total[(c ->> 'place')::integer] > 0 THEN
            RAISE EXCEPTION 'feature "%" is NULL in % rows of the join', c ->> 'feature',
                p.total[(c ->> 'place')::integer] USING ERRCODE = 'SV004',
                HINT = CASE WHEN is_sum
                    THEN 'Write COALESCE in that term, or compile it again with --nulls drop (leave the row out).'
                    ELSE 'Compile it again with --nulls mean (use the mean of the others) or --nulls drop (leave the row out).' END;
        END IF;
    END LOOP;
END $$;
