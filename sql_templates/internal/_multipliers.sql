-- The multipliers of cuts and limits that maximise the dual
-- A projected Newton method. The dual is concave, with a derivative everywhere, and the multipliers of cuts add up to 1: the pivot has what
-- the others leave. It is a large one, and stays while it is, so that the slopes of the others are measured from it: what cuts have in
-- common, as along a feature of large numbers, would hide where they differ. A multiplier at 0 stays there if the step would lead below.
-- A step that is cut off where multipliers reach 0 may lead down, but not up to where the first of them does.
-- What is proven is computed again from the multipliers: it holds for any of them.
CREATE OR REPLACE FUNCTION sqlsvm._multipliers(shape sqlsvm._shape, start float8[])
RETURNS float8[] LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_cut CONSTANT boolean[] := ARRAY(SELECT c.is_cut FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.place);
    x float8[] := start;
    here record := sqlsvm._dual_at(shape, x);
    there record;
    free float8[];
    gram float8[];
    largest integer;
    pivot integer;
    rise float8[];
    moving integer[];
    staying integer[];
    step float8[];
    along float8[];
    trial float8[];
    reach float8;
    length float8;
    total float8;
BEGIN
    FOR turn IN 1 .. 100 LOOP
        largest := (SELECT m.i FROM unnest(x, is_cut) WITH ORDINALITY AS m (x, is_cut, i) WHERE m.is_cut ORDER BY m.x DESC, m.i LIMIT 1);
        IF pivot IS NULL OR x[pivot] < 0.1 * x[largest] OR here.weight <> free THEN
            pivot := CASE WHEN x[pivot] >= 0.1 * x[largest] THEN pivot ELSE largest END;
            free := here.weight;
            gram := sqlsvm._gram(free, pivot);
        END IF;
        rise := ARRAY(SELECT s.g - CASE WHEN is_cut[s.i] THEN here.slope[pivot] ELSE 0 END FROM unnest(here.slope) WITH ORDINALITY AS s (g, i) ORDER BY s.i);
        moving := ARRAY(SELECT i FROM generate_subscripts(x, 1) AS i WHERE i <> pivot AND (x[i] > CASE WHEN is_cut[i] THEN 1e-6 ELSE 0 END OR rise[i] > 0) ORDER BY i);
        LOOP
            step := sqlsvm._solve((SELECT array_agg(ARRAY(SELECT gram[greatest(a, b) * (greatest(a, b) - 1) / 2 + least(a, b)] FROM unnest(moving) AS b ORDER BY b) ORDER BY a)
                FROM unnest(moving) AS a), ARRAY(SELECT rise[i] FROM unnest(moving) AS i ORDER BY i));
            staying := ARRAY(SELECT m.i FROM unnest(moving, step) AS m (i, s) WHERE x[m.i] = 0 AND m.s <= 0);
            EXIT WHEN staying = '{}';
            moving := ARRAY(SELECT i FROM unnest(moving) AS i WHERE i <> ALL (staying) ORDER BY i);
        END LOOP;
        along := ARRAY(SELECT coalesce(m.s, -x[i]) FROM generate_subscripts(x, 1) AS i LEFT JOIN unnest(moving, step) AS m (at, s) ON m.at = i ORDER BY i);
        along[pivot] := 0;
        EXIT WHEN sqlsvm._dot(rise, along) <= 1e-11 * abs(here.value);
        reach := least(1, (SELECT min(x[m.i] / -m.s) FROM unnest(along) WITH ORDINALITY AS m (s, i) WHERE m.s < 0),
            x[pivot] / nullif(greatest(0, (SELECT sum(m.s) FROM unnest(along) WITH ORDINALITY AS m (s, i) WHERE is_cut[m.i])), 0));
        FOR halving IN 0 .. 40 LOOP
            length := CASE WHEN halving < 10 THEN 0.5 ^ halving ELSE reach * 0.5 ^ (halving - 10) END;
            -- A trace of a cut would only underflow in the products to come.
            trial := ARRAY(SELECT CASE WHEN m.i = pivot OR m.x < 1e-14 THEN 0 ELSE m.x END
                FROM unnest(sqlsvm._plus(x, length, along)) WITH ORDINALITY AS m (x, i) ORDER BY m.i);
            total := (SELECT sum(trial[i]) FROM generate_subscripts(trial, 1) AS i WHERE is_cut[i]);
            trial[pivot] := greatest(0, 1 - total);
            trial := ARRAY(SELECT CASE WHEN is_cut[m.i] THEN m.x / greatest(1, total) ELSE m.x END FROM unnest(trial) WITH ORDINALITY AS m (x, i) ORDER BY m.i);
            there := sqlsvm._dual_at(shape, trial);
            EXIT WHEN there.value > here.value + 1e-4 * sqlsvm._dot(rise, sqlsvm._plus(trial, -1, x));
        END LOOP;
        EXIT WHEN NOT there.value > here.value;
        x := trial;
        here := there;
    END LOOP;
    RETURN x;
END $$;
