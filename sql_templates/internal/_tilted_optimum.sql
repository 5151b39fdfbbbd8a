-- Uses the widest smoothing that costs no more than its share of tol. The gain of a narrower one is measured on the true hinge.
CREATE OR REPLACE FUNCTION sqlsvm._tilted_optimum(
    tilted sqlsvm._tilted, tol float8, OUT point float8[], OUT width float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    narrower float8[];
    tilt float8[];
    before float8;
    value float8;
BEGIN
    point := tilted.start;
    FOREACH width IN ARRAY ARRAY[0.2, 0.07, 0.02, 0.007, 0.002] LOOP
        tilt := sqlsvm._tilt(tilted, width);
        narrower := sqlsvm._minimise_local(tilted.local, point, tilt, width);
        value := (sqlsvm._local_problem(tilted.local, narrower, tilt, 0)).value;
        before := (sqlsvm._local_problem(tilted.local, point, tilt, 0)).value;
        EXIT WHEN width < 0.2 AND before - value <= 0.2 * tol * abs(value);
        point := narrower;
    END LOOP;
END
$$;

COMMENT ON FUNCTION sqlsvm._tilted_optimum(sqlsvm._tilted, float8) IS 'The next point of DANE if margins are not in heaps';
