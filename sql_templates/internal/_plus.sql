-- a + t b
CREATE OR REPLACE FUNCTION sqlsvm._plus(a float8[], t float8, b float8[])
RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(s.x + CASE WHEN abs(s.y) > 1e-150 THEN t * s.y ELSE 0 END ORDER BY s.i)
    FROM unnest(a, b) WITH ORDINALITY AS s (x, y, i)
$$;
