-- The next point to look at, and the width of its pass
-- A soft pass may leave half of tol out of R, which is density width^2 / 6 with this density at the knots. The passes are soft
-- if rows lie in heaps on the knots, or with one bag if as many rows as there are coordinates are a large part of the join.
-- Where passes hardly shrink the gap, each of the last that reached lower, or told nothing, takes a quarter of the curvature of the loss, as
-- steps are too short; each other one takes that back.
-- The error of the grid falls with the square of its buckets, and the cost of a pass grows with them, so each pass is as coarse as its
-- purpose allows: it may be off by a tenth of the gap that it can hope to reach. NULL if counting is exact.
CREATE OR REPLACE FUNCTION sqlsvm._propose(
    p sqlsvm._problem, at sqlsvm._state, metric sqlsvm._metric, penalty sqlsvm._penalty, tol float8,
    OUT point float8[], OUT width float8, OUT buckets integer)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    size CONSTANT float8 := CASE WHEN (p.design ->> 'numeric')::boolean THEN at.objective_upper ELSE 1 END;
    soft CONSTANT boolean := at.heap
        OR (p.design ->> 'one_bag')::boolean AND (p.dimension / (2 * p.n)) ^ 2 / (4 * penalty.lambda) > 0.2 * tol * size;
    -- A first guess; every pass measures it.
    error_at_one float8 := (p.design ->> 'roundings')::float8 / 8 * at.grain;
    wanted float8 := greatest(1e-4, 0.1 * tol);
    share CONSTANT float8 := 4 ^ least(0, 1 - (SELECT sum(CASE WHEN c.lower THEN 1 ELSE -1 END) FROM (
        SELECT c.objective_upper < lag(c.objective_upper) OVER w OR c.lower_bound <= lag(c.lower_bound) OVER w AS lower
        FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass > 0 WINDOW w AS (ORDER BY c.pass) ORDER BY c.pass DESC LIMIT at.stalls) AS c));
    rest float8;
BEGIN
    IF NOT (p.design ->> 'one_bag')::boolean AND p.design ->> 'method' <> 'exact' THEN
        IF at.pass > 0 THEN
            error_at_one := (SELECT coalesce(nullif(c.error * c.buckets * c.buckets, 0), error_at_one)
                FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.pass);
            wanted := 0.1 / 2 ^ least(at.stalls, 2) * at.objective_upper
                * greatest(tol, 0.001 * least(1, at.gap));
        END IF;
        buckets := greatest(4, least(65536, ceil(sqrt(error_at_one / greatest(wanted, 1e-12)))));
    END IF;
    width := 0;
    IF share < 1 THEN
        rest := metric.rest / (share + 2 * penalty.lambda * (1 - share) * metric.rest);
        metric.inside := ARRAY(SELECT v / (share + 2 * penalty.lambda * (1 - share) * v) - rest
            FROM (SELECT greatest(0, e.i + metric.rest) AS v, e.k FROM unnest(metric.inside) WITH ORDINALITY AS e (i, k)) AS e ORDER BY k);
        metric.rest := rest;
        metric.outside := ARRAY(SELECT share * e.m FROM unnest(metric.outside) WITH ORDINALITY AS e (m, j) ORDER BY e.j);
    END IF;
    point := CASE WHEN at.pass = 0 THEN at.start ELSE sqlsvm._metric_point(at, metric, penalty) END;
    IF soft THEN
        width := least(0.2 * at.unit, nullif(at.width, 0), sqrt(3 * tol / 4 ^ (at.stalls / 3) * at.objective_upper / nullif(at.density, 0)));
        -- The largest that the program has up to this one; the least if there is none. A width that is NULL is a parameter.
        SELECT coalesce(max(w.own) FILTER (WHERE w.own <= width), min(w.own), 0) INTO width
        FROM (SELECT coalesce((k ->> 'width')::float8, width) AS own FROM jsonb_array_elements(p.design -> 'passes') AS k) AS w WHERE w.own > 0;
    END IF;
END $$;
