-- The solver: passes, each at the point where the ones before suggest to look, until the gap is proven. dane takes its
-- points from a sample of the join, bundle, or dane with too many numbers for that, from the cuts alone.
CREATE OR REPLACE FUNCTION sqlsvm._search(p sqlsvm._problem, wanted jsonb)
RETURNS sqlsvm._state
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    lambda float8 := wanted ->> 'lam';
    tol float8 := wanted -> 'effort' ->> 'tol';
    local sqlsvm._local;
    at sqlsvm._state;
    began timestamptz;
    point float8[];
    width float8;
    cut sqlsvm._cut;
    buckets integer;
BEGIN
    PERFORM sqlsvm._make_cuts(p.dimension);
    IF wanted ->> 'solver' = 'dane' AND cardinality(p.kept) <= 200 THEN
        local := sqlsvm._draw(p, wanted -> 'effort', lambda);
    END IF;
    at.pass := 0;
    WHILE at.pass = 0 OR at.gap > tol AND at.pass < (wanted -> 'effort' ->> 'max_passes')::integer LOOP
        SELECT s.point, s.width INTO point, width FROM sqlsvm._propose(p, at, local, lambda, tol) AS s;
        buckets := sqlsvm._buckets(p, at, local, point, tol);
        began := clock_timestamp();
        cut := sqlsvm._cut(p, point, buckets, width);
        at := sqlsvm._observe(at, point, cut, buckets, width, lambda,
            extract(epoch FROM clock_timestamp() - began)::float8);
    END LOOP;
    RETURN at;
END
$$;

COMMENT ON FUNCTION sqlsvm._search(sqlsvm._problem, jsonb) IS 'Makes passes until the gap is proven; leaves sqlsvm_cuts';
