-- One row for each place in theta, also for a category that no row of the join has.
CREATE OR REPLACE FUNCTION sqlsvm._moments(design jsonb, answers jsonb)
RETURNS TABLE (place integer, dictionary integer, total float8, squares float8, largest float8, negative float8)
LANGUAGE sql STABLE
AS $$
    SELECT (c ->> 'place')::integer, NULL::integer, (r ->> ('total' || i))::float8, (r ->> ('squares' || i))::float8,
        (r ->> ('largest' || i))::float8, (r ->> ('negative' || i))::float8
    FROM jsonb_array_elements(design -> 'coordinates') AS c,
        LATERAL (SELECT (c ->> 'place')::integer - 1 AS i, answers -> ('moments ' || (c ->> 'node')) -> 0 AS r) AS m
    UNION ALL
    SELECT k.n, k.number, coalesce(m.total, 0), coalesce(m.total, 0), 1, coalesce(m.negative, 0)
    FROM (SELECT c.n, (d ->> 'number')::integer AS number FROM jsonb_array_elements(design -> 'dictionaries') AS d, sqlsvm._categories(d) AS c) AS k
    LEFT JOIN (SELECT r.* FROM jsonb_array_elements(design -> 'dictionaries') AS d,
        jsonb_to_recordset(answers -> ('category moments ' || (d ->> 'number'))) AS r (n integer, total float8, negative float8)) AS m USING (n)
$$;

COMMENT ON FUNCTION sqlsvm._moments(jsonb, jsonb) IS 'The moments of every coordinate from the answers of a program';
