CREATE OR REPLACE FUNCTION sqlsvm._real_digits(said numeric)
RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN abs(said) BETWEEN 1e-37 AND 1e38 THEN  -- others may be no real at all, which is an error
        CASE WHEN said::real::double precision = said::double precision THEN said::real::text::numeric END
    END
$$;

COMMENT ON FUNCTION sqlsvm._real_digits(numeric) IS
    'The shortest decimal of the real that equals this double; NULL if there is none';
