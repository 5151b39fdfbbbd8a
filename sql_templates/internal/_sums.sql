-- The sum for every place in theta, from the answers of all nodes
CREATE OR REPLACE FUNCTION sqlsvm._sums(p sqlsvm._problem, answers jsonb)
RETURNS float8[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(coalesce(s.v, 0) ORDER BY place)
    FROM generate_series(1, p.size) AS place LEFT JOIN (
        SELECT (c ->> 'place')::integer AS n,
            (answers -> ('sums ' || (c ->> 'node')) -> 0 ->> ('x' || ((c ->> 'place')::integer - 1)))::float8 AS v
        FROM jsonb_array_elements(p.design -> 'coordinates') AS c
        UNION ALL
        SELECT r.n, r.c
        FROM jsonb_array_elements(p.design -> 'dictionaries') AS d,
            jsonb_to_recordset(answers -> ('categories ' || (d ->> 'number'))) AS r (n integer, c float8)
    ) AS s ON s.n = place
$$;
