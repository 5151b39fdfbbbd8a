-- Without a weight of all others, the last ELSE says what a NULL weighs too.
CREATE OR REPLACE FUNCTION sqlsvm._category_sql(operand text, branches text, others text, drops_nulls boolean)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT format(CASE WHEN drops_nulls THEN 'CASE WHEN %1$s IS NOT NULL THEN %2$s END'
            WHEN others IS NOT NULL THEN 'CASE WHEN %1$s IS NOT NULL THEN %2$s ELSE CAST(''0'' AS double precision) END'
            ELSE '%2$s' END,
        operand, format('CASE %s %s ELSE CAST(%L AS double precision) END', operand, branches, coalesce(others, '0')))
$$;

COMMENT ON FUNCTION sqlsvm._category_sql(text, text, text, boolean) IS
    'The weight of a categorical feature as an expression; 0, or that of all others, for a value that has none';
