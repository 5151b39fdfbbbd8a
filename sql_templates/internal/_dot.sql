-- a.b
-- PostgreSQL raises an error for a product too small for float8. Here it is 0, because weights may shrink without limit.
CREATE OR REPLACE FUNCTION sqlsvm._dot(a float8[], b float8[])
RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum(t.x * t.y) FILTER (WHERE abs(t.x) > 1e-150 AND abs(t.y) > 1e-150), 0) FROM unnest(a, b) AS t (x, y)
$$;
