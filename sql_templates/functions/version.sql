-- The version of sqlsvm that these functions belong to
CREATE OR REPLACE FUNCTION sqlsvm.version()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '0.1.0'::text $$;
