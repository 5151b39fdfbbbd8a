-- A query over rows of the sample: the means of some expressions, then the mean of a form in each coordinate, which is one of
-- the numbers z1 to zm, or y in the rows of a category. A row without a category has place d + 1, so only the set of all
-- rows has no place.
CREATE OR REPLACE FUNCTION sqlsvm._local_means(local sqlsvm._local, form text, source text, expressions text[] DEFAULT '{}')
RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    dictionaries integer[] := ARRAY(SELECT generate_series(0, local.dictionaries - 1));
    places text := array_to_string(ARRAY(SELECT format(', n%s', k) FROM unnest(dictionaries) AS k), '');
    sets text := array_to_string(ARRAY(SELECT format(', (n%s)', k) FROM unnest(dictionaries) AS k), '');
    forms text[] := expressions || ARRAY(SELECT format(form, 'z' || i) FROM generate_series(1, local.numbers) AS i);
    means text := array_to_string(
        ARRAY(SELECT format('coalesce(sum(%s), 0) / %s', f, local.rows) FROM unnest(forms) AS f), ', ');
    mean text := format('sum(%s) / %s', format(form, 'y'), local.rows);
BEGIN
    RETURN format(
        'WITH found AS (
             SELECT coalesce(NULL::integer%s) AS place, %s AS one, ARRAY[%s]::float8[] AS numbers
             FROM %s GROUP BY GROUPING SETS (()%s))', places, mean, means, source, sets)
        || format(
        ' SELECT (SELECT numbers FROM found WHERE place IS NULL) || ARRAY(
             SELECT coalesce(one, 0) FROM generate_series(%s, %s) AS place LEFT JOIN found USING (place) ORDER BY place)',
        local.numbers + 1, local.dimension);
END
$$;

COMMENT ON FUNCTION sqlsvm._local_means(sqlsvm._local, text, text, text[]) IS
    'The text of a query for means over rows of the sample';
