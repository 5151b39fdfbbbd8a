-- The bundle and the log of the passes. Pass 0 is the zero cut: the hinge is never below 0.
CREATE OR REPLACE FUNCTION sqlsvm._make_cuts(dimension integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    CREATE TEMPORARY TABLE sqlsvm_cuts (
        pass integer PRIMARY KEY, point float8[], slope float8[], intercept float8, products float8[],
        value_low float8, error float8, buckets integer, width float8,
        objective float8, objective_upper float8, lower_bound float8, gap float8, seconds float8
    );
    INSERT INTO pg_temp.sqlsvm_cuts (pass, slope, intercept, products)
    VALUES (0, array_fill(0::float8, ARRAY[dimension]), 0, ARRAY[0]);
END
$$;

COMMENT ON FUNCTION sqlsvm._make_cuts(integer) IS 'Makes the empty bundle';
