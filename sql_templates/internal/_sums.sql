-- The sum for every place in theta, from the answer that has its column
CREATE OR REPLACE FUNCTION sqlsvm._sums(p sqlsvm._problem, answers jsonb)
RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(coalesce(s.v, 0) ORDER BY place)
    FROM generate_series(1, p.size) AS place LEFT JOIN (
        SELECT substr(c.key, 2)::integer + 1 AS n, c.value::float8 AS v
        FROM jsonb_each(answers) AS a, jsonb_each_text(a.value -> 0) AS c WHERE c.key ~ '^x[0-9]+$'
        UNION ALL
        SELECT r.n, r.c
        FROM jsonb_array_elements(p.design -> 'dictionaries') AS d,
            jsonb_to_recordset(answers -> ('categories ' || (d ->> 'number'))) AS r (n integer, c float8)
    ) AS s ON s.n = place
$$;
