-- A proven lower bound on the optimum
-- The dual at the multipliers, minus the largest possible rounding error, so it never exceeds the exact value of a feasible point. The
-- multipliers of the cuts may sum to slightly more than 1, so they are first scaled below 1, and the zero cut takes the rest. A sum
-- of n products is off by at most n eps times the sum of their absolute values. That, and what the rounding of sums has done to the
-- cuts, may move each slope: l1 less by as much makes the minimum along a coordinate no higher than the true one. Along all
-- categories together slopes are off by the share of their features, so along each of them by no more.
CREATE OR REPLACE FUNCTION sqlsvm._dual_bound(multipliers float8[], penalty sqlsvm._penalty, rounding sqlsvm._rounding)
RETURNS float8 LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g float8;
    linear float8;
    slopes float8;
    inside float8;
    feasible float8[];
BEGIN
    SELECT 2 * (count(*) + cardinality(penalty.l1) + 8) * 2.220446049250313e-16 INTO g FROM pg_temp.sqlsvm_cuts AS c;
    SELECT array_agg(greatest(0, m.x) * CASE WHEN m.is_cut THEN (1 - g) / greatest(1, m.total) ELSE 1 END ORDER BY m.place) INTO feasible
    FROM (SELECT c.place, c.is_cut, multipliers[c.place] AS x, sum(greatest(0, multipliers[c.place])) FILTER (WHERE c.is_cut) OVER () AS total
        FROM pg_temp.sqlsvm_cuts AS c) AS m;
    SELECT sum(x * c.intercept) - g * sum(x * abs(c.intercept)) - rounding.share * greatest(1e-100, sum(x * c.offset_size)),
        rounding.share * greatest(1e-100, sum(x * c.slope_size))
    INTO linear, slopes FROM pg_temp.sqlsvm_cuts AS c, LATERAL (SELECT feasible[c.place]) AS m (x);
    SELECT sum(e.value - g * e.size) INTO inside FROM (
        SELECT min(m.steep * m.b + m.bend * m.b * m.b / 2) AS value, max(abs(m.steep * m.b) + m.bend * m.b * m.b / 2) AS size
        FROM (
            SELECT s.i, sum(feasible[c.place] * s.a) AS slope, penalty.l1[s.i]
                    - (1 + g) * (g * sum(feasible[c.place] * abs(s.a)) + slopes * coalesce(rounding.sizes[s.i], rounding.features)) AS l1,
                CASE WHEN s.i = penalty.intercept THEN 0 ELSE 2 * penalty.lambda END AS bend
            FROM pg_temp.sqlsvm_cuts AS c, unnest(c.slope[: cardinality(penalty.l1)]) WITH ORDINALITY AS s (a, i)
            GROUP BY s.i
        ) AS d, LATERAL (  -- the sides of 0 where b may be
            SELECT r.steep, d.bend, least(greatest(CASE WHEN d.bend > 0 THEN CASE WHEN abs(r.steep) > 1e-140 THEN -r.steep / d.bend ELSE 0 END
                WHEN r.steep > 0 THEN -1e100 ELSE 1e100 END, r.low), r.high) AS b
            FROM (VALUES (d.slope + d.l1, greatest(penalty.low[d.i], 0), penalty.high[d.i]),
                (d.slope - d.l1, penalty.low[d.i], least(penalty.high[d.i], 0))) AS r (steep, low, high)
            WHERE coalesce(r.low <= r.high, true)
        ) AS m GROUP BY d.i) AS e;
    RETURN linear + inside - g * (abs(linear) + abs(inside));
END $$;
