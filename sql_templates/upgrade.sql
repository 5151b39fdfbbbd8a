-- Helpers of an older version go first: nobody but our own functions calls them, and a result cannot be replaced.
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
