-- Drop the helpers of an older version first. Only our own functions call them, and CREATE OR REPLACE cannot change a result
-- type.
DO $$
DECLARE
    helpers CONSTANT text := (SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_catalog.pg_proc AS p
                              WHERE p.pronamespace = 'sqlsvm'::regnamespace AND starts_with(p.proname, '_'));
BEGIN
    IF helpers IS NOT NULL THEN
        EXECUTE 'DROP FUNCTION ' || helpers;
    END IF;
END
$$;
