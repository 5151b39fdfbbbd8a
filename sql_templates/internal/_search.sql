-- Each pass is at the point that the passes before it suggest. dane takes its points from a sample of the join; bundle, or
-- dane with too many numbers for that, from the cuts alone.
-- sqlsvm_cuts is the bundle and the log of the passes. Pass 0 is the zero cut: the hinge is never below 0.
CREATE OR REPLACE FUNCTION sqlsvm._search(p sqlsvm._problem, wanted jsonb)
RETURNS sqlsvm._state
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lambda float8 := wanted ->> 'lam';
    rounding CONSTANT float8[] := sqlsvm._rounding(p);
    tol float8 := wanted -> 'effort' ->> 'tol';
    local sqlsvm._local;
    at sqlsvm._state;
    began timestamptz;
    point float8[];
    width float8;
    cut sqlsvm._cut;
    buckets integer;
BEGIN
    CREATE TEMPORARY TABLE sqlsvm_cuts (
        pass integer PRIMARY KEY, point float8[], slope float8[], intercept float8, products float8[],
        value_low float8, error float8, buckets integer, width float8,
        objective float8, objective_upper float8, lower_bound float8, gap float8, seconds float8
    );
    INSERT INTO pg_temp.sqlsvm_cuts (pass, slope, intercept, products)
    VALUES (0, array_fill(0::float8, ARRAY[p.dimension]), 0, ARRAY[0]);
    IF wanted ->> 'solver' = 'dane' AND cardinality(p.kept) <= 200 THEN
        local := sqlsvm._draw(p, wanted -> 'effort', lambda);
    END IF;
    at.pass := 0;
    WHILE at.pass = 0 OR at.gap > tol AND at.pass < (wanted -> 'effort' ->> 'max_passes')::integer LOOP
        SELECT s.point, s.width INTO point, width FROM sqlsvm._propose(p, at, local, lambda, tol) AS s;
        buckets := sqlsvm._buckets(p, at, local, point, tol);
        began := clock_timestamp();
        cut := sqlsvm._pass(p, sqlsvm._to_raw(p, point), buckets, width);
        -- On scaled features, where the value of the cut at the point is the same.
        cut.slope := sqlsvm._from_raw(p, cut.slope);
        cut.value_low := cut.intercept + sqlsvm._dot(cut.slope, point) + cut.blur;
        at := sqlsvm._observe(at, point, cut, buckets, width, lambda, rounding,
            extract(epoch FROM clock_timestamp() - began)::float8);
    END LOOP;
    RETURN at;
END
$$;

COMMENT ON FUNCTION sqlsvm._search(sqlsvm._problem, jsonb) IS 'Makes passes until the gap is proven; leaves sqlsvm_cuts';
