-- -(1/N) sum of y x over the rows with 1 - y beta.x >= epsilon |beta|.|x|, on raw coordinates: one run for each label.
CREATE OR REPLACE FUNCTION sqlsvm._far_slope(p sqlsvm._problem, theta float8[], levels float8[], epsilon float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    given sqlsvm._given;
    slope float8[] := array_fill(0::float8, ARRAY[p.size]);
    label integer;
BEGIN
    FOREACH label IN ARRAY ARRAY[-1, 1] LOOP
        given := sqlsvm._arguments(p, theta, label);
        given.bound := 1;
        given.slack := epsilon;
        given.levels := levels;
        slope := sqlsvm._plus(slope, -label / p.n, sqlsvm._sums(p, sqlsvm._run(p.program, 'far sums', given)));
        PERFORM sqlsvm._drop(p.program, 'far sums');
    END LOOP;
    RETURN slope;
END
$$;

COMMENT ON FUNCTION sqlsvm._far_slope(sqlsvm._problem, float8[], float8[], float8) IS 'The counted part of the pseudo-gradient';
