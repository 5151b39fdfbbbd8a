CREATE OR REPLACE FUNCTION sqlsvm._value_counts(p sqlsvm._problem, answers jsonb)
RETURNS TABLE (feature text, value text, count float8)
LANGUAGE sql STABLE
AS $$
    SELECT e ->> 'feature', r.value::text, r.c
    FROM jsonb_array_elements(p.design -> 'coordinates') AS e,
        jsonb_to_recordset(answers -> ('values ' || ((e ->> 'place')::integer - 1))) AS r (value float8, c float8)
    WHERE e ->> 'role' = 'value' AND r.c > 0
    UNION ALL
    SELECT r.feature, CASE WHEN k.n IS NOT NULL THEN coalesce(k.v, '(other)') END, r.c
    FROM (SELECT d ->> 'feature' AS feature, r.* FROM jsonb_array_elements(p.design -> 'dictionaries') AS d,
        jsonb_to_recordset(answers -> ('categories ' || (d ->> 'number'))) AS r (n integer, c float8)) AS r
    LEFT JOIN (SELECT c.* FROM jsonb_array_elements(p.design -> 'dictionaries') AS d, sqlsvm._categories(d) AS c) AS k USING (n)
    WHERE r.c > 0
$$;

COMMENT ON FUNCTION sqlsvm._value_counts(sqlsvm._problem, jsonb) IS 'Counts by feature and value from the answers of a program';
