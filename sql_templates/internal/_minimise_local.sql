-- argmin of the smoothed sample hinge + tilt.beta + lambda |beta|^2, by Newton's method with backtracking.
CREATE OR REPLACE FUNCTION sqlsvm._minimise_local(
    rows float8, start float8[], tilt float8[], width float8, lambda float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    beta float8[] := start;
    here record;
    there record;
    trial float8[];
    step float8[];
    gradient float8[];
    value float8;
    descent float8;
    length float8;
BEGIN
    SELECT * INTO here FROM sqlsvm._local_sums(rows, beta, width);
    FOR newton IN 1 .. 100 LOOP
        value := here.hinge + sqlsvm._dot(tilt, beta) + lambda * sqlsvm._dot(beta, beta);
        gradient := sqlsvm._plus(sqlsvm._plus(tilt, 2 * lambda, beta), 1, here.slope);
        step := sqlsvm._solve(sqlsvm._local_hessian(rows, beta, width, lambda), gradient);
        descent := -sqlsvm._dot(gradient, step);
        EXIT WHEN -descent <= 1e-11 * greatest(abs(value), 1e-9);
        length := 1;
        LOOP
            trial := sqlsvm._plus(beta, -length, step);
            SELECT * INTO there FROM sqlsvm._local_sums(rows, trial, width);
            EXIT WHEN there.hinge + sqlsvm._dot(tilt, trial) + lambda * sqlsvm._dot(trial, trial)
                <= value + 1e-4 * length * descent;
            length := length / 2;
            IF length < 1e-9 THEN
                RETURN beta;
            END IF;
        END LOOP;
        beta := trial;
        here := there;
    END LOOP;
    RETURN beta;
END
$$;

COMMENT ON FUNCTION sqlsvm._minimise_local(float8, float8[], float8[], float8, float8) IS 'Solves the smoothed sample problem';
