CREATE OR REPLACE FUNCTION sqlsvm._share_of(steps float8)
RETURNS float8
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN steps < 2::float8 ^ 53 THEN steps / (2::float8 ^ 53 - steps) ELSE 'Infinity' END
$$;

COMMENT ON FUNCTION sqlsvm._share_of(float8) IS 'By which share of it a number may be off after that many operations';
