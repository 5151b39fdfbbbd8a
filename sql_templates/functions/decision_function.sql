-- The score of one row: positive means the positive class. For many rows see score_sql
CREATE OR REPLACE FUNCTION sqlsvm.decision_function(model text, features jsonb, version integer DEFAULT NULL)
RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT sqlsvm._score(sqlsvm._of_group(sqlsvm._body(model, version), features), features) $$;
