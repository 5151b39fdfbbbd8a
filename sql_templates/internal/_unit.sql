CREATE OR REPLACE FUNCTION sqlsvm._unit(p sqlsvm._problem)
RETURNS float8
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN (p.design ->> 'numeric')::boolean THEN coalesce(nullif(p.origin, 0), 1) ELSE 1 END
$$;

COMMENT ON FUNCTION sqlsvm._unit(sqlsvm._problem) IS 'Buckets are fractions of it: a label that is a number may have any size';
