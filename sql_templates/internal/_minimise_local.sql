-- argmin of the smoothed sample hinge + tilt.beta + lambda |beta|^2, by Newton's method, with damping if a step is too long. A
-- coordinate whose rows are all far from the hinge has almost no curvature, so its step would be far too long. Damping adds
-- the curvature of all rows, which hardly changes the other coordinates. For up to 200 coordinates a step solves a dense
-- system; for more, it is cheaper to visit the rows near the hinge. The Hessian is (gram + ridge) / (2 width).
CREATE OR REPLACE FUNCTION sqlsvm._minimise_local(local sqlsvm._local, start float8[], tilt float8[], width float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    beta float8[] := start;
    here record;
    there record;
    trial float8[];
    step float8[];
    ridge float8[];
    gram float8[];
    descent float8;
    damping float8 := 0;
BEGIN
    SELECT * INTO here FROM sqlsvm._local_problem(local, beta, tilt, width);
    FOR newton IN 1 .. 100 LOOP
        -- Only rows within width of the hinge bend the objective: beyond it a smoothed hinge is straight.
        TRUNCATE pg_temp.sqlsvm_near;
        EXECUTE format('INSERT INTO pg_temp.sqlsvm_near SELECT * FROM pg_temp.sqlsvm_local WHERE abs(1 - (%s)) < $2',
            sqlsvm._local_score(local)) USING beta || 0::float8, width;
        gram := CASE WHEN local.dimension <= 200 THEN sqlsvm._local_gram(local) END;
        FOR attempt IN 1 .. 20 LOOP
            ridge := ARRAY(SELECT 2 * width * (2 * local.lambda + damping * s.square)
                FROM unnest(local.squares) WITH ORDINALITY AS s (square, i) ORDER BY i);
            step := CASE WHEN gram IS NULL THEN sqlsvm._conjugate_gradients(local, ridge, here.gradient)
                ELSE sqlsvm._solve(gram, ridge, here.gradient) END;
            descent := -2 * width * sqlsvm._dot(here.gradient, step);
            trial := sqlsvm._plus(beta, -2 * width, step);
            SELECT * INTO there FROM sqlsvm._local_problem(local, trial, tilt, width);
            EXIT WHEN there.value <= here.value + 1e-4 * descent;
            IF attempt = 20 THEN
                RETURN beta;
            END IF;
            damping := greatest(8 * damping, 0.1);
        END LOOP;
        beta := trial;
        here := there;
        EXIT WHEN -descent <= 1e-11 * greatest(abs(here.value), 1e-9);
        damping := CASE WHEN damping > 0.1 THEN damping / 8 ELSE 0 END;
    END LOOP;
    RETURN beta;
END
$$;

COMMENT ON FUNCTION sqlsvm._minimise_local(sqlsvm._local, float8[], float8[], float8) IS 'Solves the smoothed sample problem';
