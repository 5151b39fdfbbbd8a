-- A query: over rows of the sample, the mean of some expressions, then of a form in each coordinate: the numbers z1 to zm,
-- and y in the rows of a category. A row without one has place d + 1, so only the set of all rows is without a place.
CREATE OR REPLACE FUNCTION sqlsvm._local_means(local sqlsvm._local, form text, source text, expressions text[] DEFAULT '{}')
RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT format(
        'WITH found AS (
             SELECT coalesce(NULL::integer%1$s) AS place, sum(%2$s) / %3$s AS one, ARRAY[%4$s]::float8[] AS numbers
             FROM %5$s GROUP BY GROUPING SETS (()%6$s))
         SELECT (SELECT numbers FROM found WHERE place IS NULL) || ARRAY(
             SELECT coalesce(one, 0) FROM generate_series(%7$s, %8$s) AS place LEFT JOIN found USING (place) ORDER BY place)',
        (SELECT string_agg(format(', n%s', k), '' ORDER BY k) FROM generate_series(0, local.dictionaries - 1) AS k),
        format(form, 'y'), local.rows,
        (SELECT string_agg(format('coalesce(sum(%s), 0) / %s', e.v, local.rows), ', ' ORDER BY e.i)
            FROM unnest(expressions || ARRAY(
                SELECT format(form, 'z' || i) FROM generate_series(1, local.numbers) AS i ORDER BY i)) WITH ORDINALITY AS e (v, i)),
        source,
        (SELECT string_agg(format(', (n%s)', k), '' ORDER BY k) FROM generate_series(0, local.dictionaries - 1) AS k),
        local.numbers + 1, local.dimension)
$$;

COMMENT ON FUNCTION sqlsvm._local_means(sqlsvm._local, text, text, text[]) IS 'The text that takes means over rows of the sample';
