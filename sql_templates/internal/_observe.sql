-- Adds the cut of a pass to the bundle and updates the proof
CREATE OR REPLACE FUNCTION sqlsvm._observe(
    p sqlsvm._problem, before sqlsvm._state, metric sqlsvm._metric, penalty sqlsvm._penalty, point float8[], cut sqlsvm._cut,
    buckets integer, width float8, rounding sqlsvm._rounding, seconds float8)
RETURNS sqlsvm._state LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at sqlsvm._state := before;
    objective CONSTANT float8 := cut.value_low + sqlsvm._penalty_of(penalty, point);
    shape sqlsvm._shape;
    near float8[];
    known float8;
BEGIN
    at.pass := before.pass + 1;
    INSERT INTO pg_temp.sqlsvm_cuts (place, pass, is_cut, point, slope, intercept, offset_size, slope_size, error, buckets, width, seconds)
    VALUES ((SELECT 1 + max(c.place) FROM pg_temp.sqlsvm_cuts AS c), at.pass, true, point,
        cut.slope || sqlsvm._turned(metric, cut.slope), cut.intercept, cut.offset_size, cut.slope_size, cut.error, buckets, width, seconds);
    IF before.best IS NULL OR objective + cut.error + cut.rounded < before.objective_upper THEN
        at.best := at.pass;
        at.objective := greatest(0, objective - cut.rounded);
        at.objective_upper := objective + cut.error + cut.rounded;
    END IF;
    IF width > 0 THEN
        at.width := width;
        at.density := 6 * greatest(0, cut.blur) / (width * width);
    END IF;
    at.alpha := before.alpha || 0::float8;
    at.bound := coalesce(before.bound, 0);
    near := (SELECT c.point FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.best);
    FOR turn IN 1 .. 8 LOOP  -- nearer to where an intercept without a penalty belongs
        known := at.bound;
        shape := sqlsvm._lowest_shape(penalty, near);
        at.alpha := sqlsvm._multipliers(shape, at.alpha);
        at.bound := greatest(known, sqlsvm._dual_bound(at.alpha, sqlsvm._confined(p, penalty, at.objective_upper), rounding));
        EXIT WHEN penalty.intercept IS NULL OR at.bound - known <= 1e-6 * at.objective_upper;
        near := (sqlsvm._dual_at(shape, at.alpha)).point;
    END LOOP;
    IF at.bound > at.objective_upper * (1 + 1e-6) + 1e-9 THEN
        RAISE EXCEPTION 'a pass has reached %, which is below %, the lower bound of the passes before', at.objective_upper, at.bound
            USING ERRCODE = 'SV004', DETAIL = 'The passes read different rows, so they prove nothing together.',
                HINT = 'First copy data that changes while it is read, such as a foreign table, to a table.';
    END IF;
    at.lower_bound := least(at.bound, at.objective_upper);
    at.gap := CASE WHEN at.objective_upper > 0 THEN (at.objective_upper - at.lower_bound) / at.objective_upper ELSE 0 END;
    at.nothing := at.bound <= 0 AND (at.best = at.pass AND objective + cut.error <= cut.rounded OR at.best < at.pass AND before.nothing);
    at.stalls := CASE WHEN at.gap > 0.6 * before.gap THEN before.stalls + 1 ELSE 0 END;
    UPDATE pg_temp.sqlsvm_cuts AS c
    SET objective = at.objective, objective_upper = at.objective_upper, lower_bound = at.lower_bound, gap = at.gap
    WHERE c.pass = at.pass;
    RAISE NOTICE 'pass %   objective %   lower bound %   gap %   % s', at.pass,
        to_char(at.objective, 'FM9999990.000000'), to_char(at.lower_bound, 'FM9999990.000000'),
        trim_scale(round(at.gap::numeric, CASE WHEN at.gap > 0 THEN 1 - floor(log(at.gap))::integer ELSE 0 END)), to_char(seconds, 'FM9999990.00');
    RETURN at;
END $$;
