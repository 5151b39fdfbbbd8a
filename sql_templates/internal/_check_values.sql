CREATE OR REPLACE FUNCTION sqlsvm._check_values(p sqlsvm._problem)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    c jsonb;
BEGIN
    FOR c IN SELECT i FROM jsonb_array_elements(p.design -> 'coordinates') AS i LOOP
        IF p.total[(c ->> 'place')::integer] IN ('NaN', 'Infinity', '-Infinity') THEN
            RAISE EXCEPTION 'feature "%" is NaN or infinite in some rows of the join', c ->> 'feature'
                USING ERRCODE = 'SV004', HINT = 'Leave those rows out in the query, and compile it again: sqlsvm compile --name ...';
        ELSIF p.nulls = 'error' AND c ->> 'role' = 'missing' AND p.total[(c ->> 'place')::integer] > 0 THEN
            RAISE EXCEPTION 'feature "%" is NULL in % rows of the join', c ->> 'feature',
                p.total[(c ->> 'place')::integer] USING ERRCODE = 'SV004',
                HINT = 'Compile it again with --nulls mean (use the mean of the others) or --nulls drop (leave the row out).';
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_values(sqlsvm._problem) IS 'Refuses features that are not finite numbers';
