-- The score of one row
CREATE OR REPLACE FUNCTION sqlsvm._score(body jsonb, features jsonb)
RETURNS double precision LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RETURN (sqlsvm._scored(body, features, false))[1]; END $$;
