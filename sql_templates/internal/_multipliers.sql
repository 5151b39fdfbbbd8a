-- The dual is concave and quadratic wherever the same coordinates are free. So each turn solves a quadratic problem, and goes there
-- as far as the dual rises. Without l1 and limits the first turn is exact. What is proven is computed again from the multipliers.
CREATE OR REPLACE FUNCTION sqlsvm._multipliers(shape sqlsvm._shape, is_turned boolean, start float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found float8[] := start;
    here record := sqlsvm._dual_at(shape, is_turned, start);
    there record;
    aim float8[];
    trial float8[];
    length float8;
    straight float8[];
BEGIN
    FOR turn IN 1 .. 30 LOOP
        straight := sqlsvm._plus(here.point, 1, ARRAY(SELECT e.w * e.g
            FROM unnest(here.weight, here.slope) WITH ORDINALITY AS e (w, g, n) ORDER BY e.n));
        aim := sqlsvm._simplex(sqlsvm._gram(here.weight, is_turned),
            ARRAY(SELECT c.intercept + sqlsvm._dot(CASE WHEN is_turned THEN c.slope || c.turned ELSE c.slope END, straight)
                FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.place),
            ARRAY(SELECT c.is_cut FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.place), found);
        length := 1;
        LOOP
            trial := sqlsvm._plus(found, length, sqlsvm._plus(aim, -1, found));
            there := sqlsvm._dual_at(shape, is_turned, trial);
            EXIT WHEN there.value > here.value OR length < 1e-3;
            length := length / 4;
        END LOOP;
        EXIT WHEN NOT there.value > here.value;
        found := trial;
        EXIT WHEN there.value - here.value <= 1e-10 * abs(there.value) OR (length = 1 AND there.weight = here.weight);
        here := there;
    END LOOP;
    RETURN found;
END
$$;

COMMENT ON FUNCTION sqlsvm._multipliers(sqlsvm._shape, boolean, float8[]) IS 'The multipliers of cuts and limits that maximise the dual';
