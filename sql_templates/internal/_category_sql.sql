CREATE OR REPLACE FUNCTION sqlsvm._category_sql(operand text, branches text, drops_nulls boolean)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT format(CASE WHEN drops_nulls THEN 'CASE WHEN %1$s IS NOT NULL THEN %2$s END' ELSE '%2$s' END,
        operand, format('CASE %s %s ELSE CAST(''0'' AS double precision) END', operand, branches))
$$;

COMMENT ON FUNCTION sqlsvm._category_sql(text, text, boolean) IS
    'The weight of a categorical feature as an expression; 0 for a value that was not in the training';
