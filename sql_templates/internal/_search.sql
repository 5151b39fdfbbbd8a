-- Makes passes until the gap is proven; leaves sqlsvm_cuts
-- sqlsvm_cuts is the bundle and the log of the passes. Its first row is the zero cut: no loss is below 0. Rows that are no cuts are
-- constraints: slope.beta + intercept <= 0. Their places are 1, 2, ...; a slope goes on along the eigenvectors of the metric.
CREATE OR REPLACE FUNCTION sqlsvm._search(p sqlsvm._problem, program sqlsvm.programs, wanted jsonb)
RETURNS sqlsvm._state LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tol CONSTANT float8 := wanted -> 'effort' ->> 'tol';
    rounding CONSTANT sqlsvm._rounding := sqlsvm._rounding(p);
    zero CONSTANT float8[] := array_fill(0::float8, ARRAY[p.dimension]);
    exactly sqlsvm._rounding := rounding;
    penalty sqlsvm._penalty;
    metric sqlsvm._metric;
    at sqlsvm._state;
    began timestamptz;
    point float8[];
    width float8;
    cut sqlsvm._cut;
    buckets integer;
BEGIN
    CREATE TEMPORARY TABLE sqlsvm_cuts (
        place integer PRIMARY KEY, pass integer, is_cut boolean, point float8[], slope float8[], intercept float8,
        offset_size float8, slope_size float8, error float8, buckets integer, width float8,
        objective float8, objective_upper float8, lower_bound float8, gap float8, seconds float8
    );
    CREATE TEMPORARY TABLE sqlsvm_vectors (k integer, vector float8[]);
    INSERT INTO pg_temp.sqlsvm_cuts (place, is_cut, slope, intercept, offset_size, slope_size) VALUES (1, true, zero, 0, 0, 0);
    penalty := sqlsvm._penalty(p, wanted);
    exactly.share := 0;
    at.pass := 0;
    at.stalls := 0;
    at.gap := 1;
    at.alpha := ARRAY(SELECT CASE c.place WHEN 1 THEN 1 ELSE 0 END FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.place);
    PERFORM sqlsvm._check_start(program);
    metric := sqlsvm._metric(p, program, penalty.lambda, rounding, wanted ->> 'solver');
    UPDATE pg_temp.sqlsvm_cuts AS c SET slope = c.slope || sqlsvm._turned(metric, c.slope);
    at.start := sqlsvm._start(p, program, penalty, wanted);
    at.objective_upper := program.start ->> 'objective';
    at.density := program.start ->> 'density';
    at.grain := program.start ->> 'grain';
    at.unit := program.start ->> 'unit';
    at.width := program.start ->> 'width';
    at.heap := program.start ->> 'heap';
    WHILE at.pass = 0 OR at.gap > tol AND NOT at.nothing AND at.pass < (wanted -> 'effort' ->> 'max_passes')::integer LOOP
        SELECT s.point, s.width, s.buckets INTO point, width, buckets FROM sqlsvm._propose(p, at, metric, penalty, tol) AS s;
        point := sqlsvm._repaired(penalty, point);
        began := clock_timestamp();
        cut := sqlsvm._pass(p, sqlsvm._to_raw(p, point), buckets, width);
        -- On scaled features, where the value of the cut at the point is the same.
        cut.slope := sqlsvm._from_raw(p, cut.slope);
        cut.value_low := cut.intercept + sqlsvm._dot(cut.slope, point) + cut.blur;
        cut := sqlsvm._sized(p, rounding, cut, point, width, sqlsvm._penalty_of(penalty, point));
        at := sqlsvm._observe(p, at, metric, penalty, point, cut, buckets, width, rounding,
            extract(epoch FROM clock_timestamp() - began)::float8);
    END LOOP;
    IF at.gap > tol AND NOT at.nothing THEN
        at.rounded := (SELECT CASE WHEN at.objective > 0 THEN (at.objective_upper - at.objective - c.error) / 2
            ELSE at.objective_upper - c.error - at.lower_bound END FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.best);
        penalty := sqlsvm._confined(p, penalty, at.objective_upper);
        at.rounded := (at.rounded + sqlsvm._dual_bound(at.alpha, penalty, exactly) - sqlsvm._dual_bound(at.alpha, penalty, rounding)) / at.objective_upper;
    END IF;
    RETURN at;
END $$;
