-- The dual is concave, with a derivative everywhere, and quadratic wherever the same coordinates are free. So each turn solves a quadratic
-- problem, and goes that way up to where the dual is highest: beyond the places where coordinates become free, if it rises there. What is
-- proven is computed again from the multipliers. Those of cuts add up to 1, so the slopes of cuts are measured from their mean with
-- the multipliers so far: what cuts have in common, as along a feature of large numbers, would hide where they differ.
CREATE OR REPLACE FUNCTION sqlsvm._multipliers(shape sqlsvm._shape, start float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    is_cut CONSTANT boolean[] := ARRAY(SELECT c.is_cut FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.place);
    found float8[] := start;
    common float8[];
    here record;
    step float8[];
    free float8[];
    steepness float8;
    length float8 := 1;
BEGIN
    FOR turn IN 1 .. 50 LOOP
        here := sqlsvm._dual_at(shape, found);
        EXIT WHEN length = 1 AND here.weight = free AND 0 >= ALL (shape.l1);  -- else a weight may have changed its sign
        free := here.weight;
        common := sqlsvm._mixed(ARRAY(SELECT CASE WHEN m.is_cut THEN m.x ELSE 0 END
            FROM unnest(found, is_cut) WITH ORDINALITY AS m (x, is_cut, i) ORDER BY m.i), cardinality(free));
        step := sqlsvm._plus(sqlsvm._simplex(sqlsvm._gram(free, common),
            sqlsvm._heights(sqlsvm._plus(here.point, 1, sqlsvm._times(free, sqlsvm._plus(here.slope, -1, common)))),
            is_cut, found), -1, found);
        steepness := sqlsvm._dot(step, sqlsvm._heights(here.point));
        EXIT WHEN steepness <= 1e-11 * abs(here.value);
        length := sqlsvm._highest(shape, here.slope, sqlsvm._mixed(step, cardinality(free)), steepness);
        found := sqlsvm._plus(found, length, step);
    END LOOP;
    RETURN found;
END
$$;

COMMENT ON FUNCTION sqlsvm._multipliers(sqlsvm._shape, float8[]) IS 'The multipliers of cuts and limits that maximise the dual';
