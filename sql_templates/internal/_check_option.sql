-- Refuses an option that is out of range
CREATE OR REPLACE FUNCTION sqlsvm._check_option(name text, value float8, low float8, inclusive boolean, example text)
RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NOT NULL AND NOT (value > low AND value < 'Infinity' OR inclusive AND value = low) THEN
        RAISE EXCEPTION '% must be % %, not %', name, CASE WHEN inclusive THEN 'at least' ELSE 'above' END, low, value
            USING ERRCODE = 'SV003', HINT = format('For example %s.', example);
    END IF;
END $$;
