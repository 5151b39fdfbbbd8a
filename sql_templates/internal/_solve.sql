-- Solves a positive definite system
-- x with (A + ridge) x = b by Cholesky's method; A is the lower triangle of a matrix, row by row. A pivot that rounding
-- made too small is lifted: callers use the result only as a step that is measured afterwards.
CREATE OR REPLACE FUNCTION sqlsvm._solve(a float8[], ridge float8[], b float8[])
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    d integer := cardinality(b);
    smallest float8;
    x float8[] := b;
    row_i integer;
    row_j integer;
    s float8;
BEGIN
    FOR i IN 1 .. d LOOP
        a[i * (i + 1) / 2] := a[i * (i + 1) / 2] + ridge[i];
    END LOOP;
    smallest := (SELECT greatest(1e-14 * max(abs(v)), 1e-44) FROM unnest(a) AS v);
    FOR i IN 1 .. d LOOP
        row_i := i * (i - 1) / 2;
        FOR j IN 1 .. i LOOP
            row_j := j * (j - 1) / 2;
            s := a[row_i + j];
            FOR k IN 1 .. j - 1 LOOP
                s := s - a[row_i + k] * a[row_j + k];
            END LOOP;
            IF i = j THEN
                a[row_i + i] := sqrt(greatest(s, smallest));
            ELSE
                a[row_i + j] := s / a[row_j + j];
            END IF;
        END LOOP;
        s := x[i];
        FOR k IN 1 .. i - 1 LOOP
            s := s - a[row_i + k] * x[k];
        END LOOP;
        x[i] := s / a[row_i + i];
    END LOOP;
    FOR i IN REVERSE d .. 1 LOOP
        s := x[i];
        FOR k IN i + 1 .. d LOOP
            s := s - a[k * (k - 1) / 2 + i] * x[k];
        END LOOP;
        x[i] := s / a[i * (i + 1) / 2];
    END LOOP;
    RETURN x;
END
$$;
