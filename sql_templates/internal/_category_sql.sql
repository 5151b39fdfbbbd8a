CREATE OR REPLACE FUNCTION sqlsvm._category_sql(feature text, branches text, drops_nulls boolean)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT CASE WHEN drops_nulls THEN format('CASE WHEN %I IS NOT NULL THEN %s END', feature, c.found) ELSE c.found END
    FROM (SELECT format('CASE %I %s ELSE CAST(''0'' AS double precision) END', feature, branches)) AS c (found)
$$;

COMMENT ON FUNCTION sqlsvm._category_sql(text, text, boolean) IS
    'The weight of a categorical feature, as an expression over its column; 0 for a value that training has not seen';
