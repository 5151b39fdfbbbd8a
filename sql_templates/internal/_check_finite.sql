CREATE OR REPLACE FUNCTION sqlsvm._check_finite(name text, value float8, example text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF value IS NULL OR value IN ('NaN', 'Infinity', '-Infinity') THEN
        RAISE EXCEPTION '% must be a finite number, not %', name, coalesce(value::text, 'NULL') USING ERRCODE = 'SV003',
            HINT = format('For example %s.', example);
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_finite(text, float8, text) IS 'Refuses an argument that is no finite number';
