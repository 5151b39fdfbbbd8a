-- Solves a positive definite system
-- x with (A + ridge) x = b: rows are subtracted from those below, and x follows from the last row on. Where rounding made a pivot too
-- small x is 0, as what grows over several would overflow: callers use the result only as a step that is measured afterwards.
CREATE OR REPLACE FUNCTION sqlsvm._solve(a float8[], x float8[])
RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    d CONSTANT integer := cardinality(x);
    ridge CONSTANT float8 := (SELECT greatest(1e-12 * max(abs(v)), 1e-30) FROM unnest(a) AS v);
    share float8;
BEGIN
    FOR k IN 1 .. d LOOP
        a[k][k] := CASE WHEN a[k][k] > -0.99 * ridge THEN a[k][k] + ridge ELSE 1e50 * ridge END;
        FOR i IN k + 1 .. d LOOP
            share := a[k][i] / a[k][k];
            x[i] := x[i] - share * x[k];
            FOR j IN i .. d LOOP
                a[i][j] := a[i][j] - share * a[k][j];
            END LOOP;
        END LOOP;
    END LOOP;
    FOR i IN REVERSE d .. 1 LOOP
        FOR j IN i + 1 .. d LOOP
            x[i] := x[i] - a[i][j] * x[j];
        END LOOP;
        x[i] := x[i] / a[i][i];
    END LOOP;
    RETURN x;
END $$;
