-- The score of one row
CREATE OR REPLACE FUNCTION sqlsvm._score(body jsonb, features jsonb)
RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT (sqlsvm._scored(body, features, false))[1] $$;
