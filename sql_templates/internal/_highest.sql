-- Along a step the slope of the dual falls from `steepness`, linearly between places where coordinates become free. So it is 0 near the
-- place where the line through two of its values is. A value that stays counts half the next time: the rule of Illinois.
CREATE OR REPLACE FUNCTION sqlsvm._highest(shape sqlsvm._shape, slope float8[], along float8[], steepness float8)
RETURNS float8
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    still CONSTANT float8 := steepness - sqlsvm._dot(along, ARRAY(SELECT i.b FROM sqlsvm._inner(slope, shape) AS i ORDER BY i.place));
    low float8 := 0;
    high float8;
    at_low float8 := steepness;
    at_high float8;
    length float8 := 1;
    here float8;
    was_low boolean;
BEGIN
    FOR turn IN 1 .. 60 LOOP
        here := still + sqlsvm._dot(along, ARRAY(
            SELECT i.b FROM sqlsvm._inner(sqlsvm._plus(slope, length, along), shape) AS i ORDER BY i.place));
        EXIT WHEN high IS NULL AND here >= 0 OR abs(here) <= 1e-6 * steepness;
        IF here > 0 THEN
            at_high := CASE WHEN was_low THEN at_high / 2 ELSE at_high END;
            low := length;
            at_low := here;
        ELSE
            at_low := CASE WHEN NOT was_low THEN at_low / 2 ELSE at_low END;
            high := length;
            at_high := here;
        END IF;
        was_low := here > 0;
        length := low + (high - low) * at_low / (at_low - at_high);
    END LOOP;
    RETURN length;
END
$$;

COMMENT ON FUNCTION sqlsvm._highest(sqlsvm._shape, float8[], float8[], float8) IS 'How much of a step leads to the highest point of the dual';
