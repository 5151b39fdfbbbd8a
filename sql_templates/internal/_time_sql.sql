CREATE OR REPLACE FUNCTION sqlsvm._time_sql(operand text, kind text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT format(CASE
        WHEN kind IN ('date', 'timestamp', 'timestamptz') THEN '(CAST(EXTRACT(EPOCH FROM %s) AS double precision) / 86400)'
        WHEN kind IN ('time', 'interval') THEN 'CAST(EXTRACT(EPOCH FROM %s) AS double precision)'
        ELSE 'CAST(%s AS double precision)' END, operand)
$$;

COMMENT ON FUNCTION sqlsvm._time_sql(text, text) IS
    'A date or a timestamp as days since 1970, a time or an interval as seconds, any other kind as a number';
