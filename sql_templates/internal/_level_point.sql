-- argmin |beta - best|^2 where the cuts allow model(beta) <= level. With a multiplier of the constraint this is a proximal
-- step, whose value in the model falls as the multiplier grows, so bisect on its logarithm.
CREATE OR REPLACE FUNCTION sqlsvm._level_point(at sqlsvm._state, penalty sqlsvm._penalty)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    level CONSTANT float8 := 0.7 * at.objective + 0.3 * at.lower_bound;
    best CONSTANT float8[] := (SELECT c.point FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.best);
    low float8 := ln(1e-8 / penalty.lambda);
    high float8 := ln(1e8 / penalty.lambda);
    middle float8;
    shape sqlsvm._shape;
    multipliers float8[] := at.alpha;
    trial float8[];
    found float8[];
BEGIN
    FOR bisection IN 1 .. 20 LOOP
        middle := CASE WHEN bisection = 1 THEN high ELSE (low + high) / 2 END;
        shape := sqlsvm._lowest_shape(penalty, best, exp(-middle));
        multipliers := sqlsvm._multipliers(shape, multipliers);
        trial := (sqlsvm._dual_at(shape, multipliers)).point;
        IF found IS NULL OR sqlsvm._penalty_of(penalty, trial) + (
            SELECT max(c.intercept + sqlsvm._dot(c.slope, trial)) FROM pg_temp.sqlsvm_cuts AS c WHERE c.is_cut) <= level
        THEN
            high := middle;
            found := trial;
        ELSE
            low := middle;
        END IF;
    END LOOP;
    RETURN found;
END
$$;

COMMENT ON FUNCTION sqlsvm._level_point(sqlsvm._state, sqlsvm._penalty) IS 'The next point of the level bundle';
