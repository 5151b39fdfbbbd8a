-- The type of the values in the working table of a dictionary
-- Of a domain it is the base type. The texts of a citext are kept in lower case, as text.
CREATE OR REPLACE FUNCTION sqlsvm._category_type(dictionary jsonb)
RETURNS name LANGUAGE sql STABLE STRICT AS $$
    WITH RECURSIVE types (name, below) AS (
        SELECT t.typname, t.typbasetype
        FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
        WHERE a.attrelid = format('pg_temp.%I', dictionary ->> 'table')::regclass AND a.attname = 'v'
        UNION ALL
        SELECT t.typname, t.typbasetype FROM types AS d JOIN pg_catalog.pg_type AS t ON t.oid = d.below
    )
    SELECT CASE WHEN dictionary ? 'caseless' THEN 'citext' ELSE types.name END FROM types WHERE types.below = 0
$$;
