-- For each feature, value and label the join rows with label * score < bound
CREATE OR REPLACE FUNCTION sqlsvm.row_count(
    model text, beta jsonb DEFAULT NULL, bound float8 DEFAULT 1, buckets integer DEFAULT 64, trust text DEFAULT NULL)
RETURNS TABLE (feature text, value text, label integer, count float8)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p sqlsvm._problem;
    given sqlsvm._given;
    answers jsonb;
BEGIN
    PERFORM sqlsvm._check_option('buckets', buckets, 1, true, 'buckets => 64');
    IF bound IS NULL OR bound IN ('NaN', 'Infinity', '-Infinity') THEN
        RAISE EXCEPTION 'bound must be a finite number, not %', coalesce(bound::text, 'NULL')
            USING ERRCODE = 'SV003', HINT = 'For example bound => 1.';
    END IF;
    p := sqlsvm._begun(model, beta, trust, 'rows are counted by the values of');
    FOREACH label IN ARRAY ARRAY[-1, 1] LOOP
        given := sqlsvm._arguments(p, p.theta, label);
        given.bound := bound;
        given.buckets := buckets;
        answers := sqlsvm._run('row count', given);
        PERFORM sqlsvm._drop('row count');
        RETURN QUERY
            SELECT f.name, (r.value + f.origin)::text, row_count.label, r.c
            FROM unnest(p.features) AS f,
                jsonb_to_recordset(answers -> ('values ' || f.terms[1] - 1)) AS r (value float8, c float8)
            WHERE r.c > 0
            UNION ALL
            SELECT r.feature, CASE WHEN k.n IS NOT NULL THEN coalesce(k.v, '(other)') END, row_count.label, r.c
            FROM (SELECT d ->> 'feature' AS feature, r.* FROM jsonb_array_elements(p.design -> 'dictionaries') AS d,
                jsonb_to_recordset(answers -> ('categories ' || (d ->> 'number'))) AS r (n integer, c float8)) AS r
            LEFT JOIN (SELECT c.* FROM jsonb_array_elements(p.design -> 'dictionaries') AS d, sqlsvm._categories(d) AS c) AS k ON k.n = r.n
            WHERE r.c > 0;
    END LOOP;
    PERFORM sqlsvm._close();
END $$;
