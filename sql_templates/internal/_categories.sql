-- The categories of a dictionary, with their places in theta
-- v is NULL where all others share a weight. From its usual guess of rows, 1000, PostgreSQL would compile the joins with them (JIT).
CREATE OR REPLACE FUNCTION sqlsvm._categories(dictionary jsonb)
RETURNS TABLE (n integer, v text)
LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT d.n::integer, d.v::text FROM pg_temp.%I AS d', dictionary ->> 'table');
END $$;
