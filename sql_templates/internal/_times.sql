-- The products of two vectors, one by one
CREATE OR REPLACE FUNCTION sqlsvm._times(a float8[], b float8[])
RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(CASE WHEN abs(s.x) > 1e-150 AND abs(s.y) > 1e-150 THEN s.x * s.y ELSE 0 END ORDER BY s.i)
    FROM unnest(a, b) WITH ORDINALITY AS s (x, y, i)
$$;
