-- The counts to which counts are rounded down
-- 1 = f_0 < f_1 < ... up to the largest: f' = floor((1 + step) f) + 1, so that f' - 1 <= (1 + step) f. The step is exact:
-- a double is a whole number of 2^-120 here, and numerics of whole numbers are not rounded. Above 2^53 a level is cut to a
-- double.
CREATE OR REPLACE FUNCTION sqlsvm._levels(step float8, largest float8)
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    unit float8 := 1073741824;
    rest float8 := step;
    numerator numeric := 0;
    denominator numeric := power(2::numeric, 120);
    level numeric := 1;
    extra numeric;
    found float8[] := '{}';
BEGIN
    FOR part IN 1 .. 4 LOOP
        rest := rest * unit;
        numerator := numerator * unit::bigint + floor(rest)::bigint;
        rest := rest - floor(rest);
    END LOOP;
    WHILE level::float8 <= largest LOOP
        found := found || level::float8;
        level := level + div(level * numerator, denominator) + 1;
        extra := 1;
        WHILE level >= extra * 9007199254740992 LOOP
            extra := extra * 2;
        END LOOP;
        level := div(level, extra) * extra;
    END LOOP;
    RETURN found;
END
$$;
