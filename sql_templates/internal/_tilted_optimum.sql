-- Where DANE looks next: the optimum of the sample, tilted so that its slope at the start is that of the join. The widest
-- smoothing that does not cost more than its share of tol; what narrowing gains is measured on the true hinge.
CREATE OR REPLACE FUNCTION sqlsvm._tilted_optimum(
    rows float8, start float8[], slope float8[], lambda float8, tol float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    point float8[] := start;
    narrower float8[];
    tilt float8[] := array_fill(0::float8, ARRAY[cardinality(start)]);
    width float8;
    before float8 := 'Infinity';
    value float8;
BEGIN
    FOREACH width IN ARRAY ARRAY[0.2, 0.07, 0.02, 0.007, 0.002] LOOP
        IF slope IS NOT NULL THEN
            tilt := sqlsvm._plus(slope, -1, (SELECT s.slope FROM sqlsvm._local_sums(rows, start, width) AS s));
        END IF;
        narrower := sqlsvm._minimise_local(rows, point, tilt, width, lambda);
        value := sqlsvm._local_value(rows, narrower, tilt, lambda);
        before := sqlsvm._local_value(rows, point, tilt, lambda);
        EXIT WHEN width < 0.2 AND before - value <= 0.2 * tol * abs(value);
        point := narrower;
    END LOOP;
    RETURN point;
END
$$;

COMMENT ON FUNCTION sqlsvm._tilted_optimum(float8, float8[], float8[], float8, float8) IS 'The next point of DANE';
