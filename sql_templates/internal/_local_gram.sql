-- The lower triangle, row by row: first numbers by numbers, in blocks, because PostgreSQL compares each aggregate of a
-- statement with every other; then the rows of categories, which are sums over a category and counts of pairs.
CREATE OR REPLACE FUNCTION sqlsvm._local_gram(local sqlsvm._local)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    m integer := local.numbers;
    block integer := greatest(1, 400 / greatest(m, 1));
    dictionaries integer[] := ARRAY(SELECT generate_series(0, local.dictionaries - 1));
    places text := array_to_string(ARRAY(SELECT 'n' || k FROM unnest(dictionaries) AS k), ', ');
    pairs text := array_to_string(
        ARRAY(SELECT format('(n%s, n%s)', k, l) FROM unnest(dictionaries) AS k, unnest(dictionaries) AS l WHERE l <= k), ', ');
    sums text := array_to_string(ARRAY(SELECT format('sum(y * z%s)', i) FROM generate_series(1, m) AS i), ', ');
    gram float8[] := '{}';
    part float8[];
BEGIN
    FOR top IN 1 .. m BY block LOOP
        EXECUTE format('SELECT ARRAY[%s] FROM pg_temp.sqlsvm_near',
            (SELECT string_agg(format('coalesce(sum(z%s * z%s), 0) / %s', i, j, local.rows), ', ' ORDER BY i, j)
                FROM generate_series(top, least(top + block - 1, m)) AS i, generate_series(1, i) AS j))
        INTO part;
        gram := gram || part;
    END LOOP;
    IF local.dictionaries > 0 THEN
        EXECUTE format(
            'WITH found AS (
                 SELECT greatest(%1$s) AS i, least(%1$s) AS j, count(*) AS v, ARRAY[%2$s]::float8[] AS sums
                 FROM pg_temp.sqlsvm_near GROUP BY GROUPING SETS (%3$s))', places, sums, pairs)
            || format(
            ' SELECT array_agg(coalesce(v, 0) / %s ORDER BY i, j)
             FROM generate_series(%s, %s) AS i CROSS JOIN generate_series(1, i) AS j LEFT JOIN (
                 SELECT i, j, v FROM found UNION ALL
                 SELECT i, s.j, s.v FROM found, unnest(sums) WITH ORDINALITY AS s (v, j) WHERE i = found.j) AS g USING (i, j)',
            local.rows, m + 1, local.dimension)
        INTO part;
        gram := gram || part;
    END IF;
    RETURN gram;
END
$$;

COMMENT ON FUNCTION sqlsvm._local_gram(sqlsvm._local) IS 'The sum of x x'' / K over sqlsvm_near';
