CREATE OR REPLACE FUNCTION sqlsvm._dot(a float8[], b float8[])
RETURNS float8
LANGUAGE sql IMMUTABLE
AS $$ SELECT coalesce(sum(t.x * t.y), 0) FROM unnest(a, b) AS t (x, y) $$;

COMMENT ON FUNCTION sqlsvm._dot(float8[], float8[]) IS 'a.b';
