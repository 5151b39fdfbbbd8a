-- argmin model(beta) + |beta - centre|^2 / 2, where the square is in the metric without the curvature of the penalty. The centre is
-- the best point. In a heap many points are about as good, and the slope at the latest one says most. Where a dense weight leaves
-- its limits, or its sign, a limit is added for this step.
CREATE OR REPLACE FUNCTION sqlsvm._metric_point(at sqlsvm._state, metric sqlsvm._metric, penalty sqlsvm._penalty)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    centre float8[];
    slope float8[];
    signs float8[];
    shape sqlsvm._shape;
    multipliers float8[] := at.alpha;
    point float8[];
    extended float8[];
    unit float8[];
    broken record;
    any_broken boolean;
    last integer := (SELECT max(c.place) FROM pg_temp.sqlsvm_cuts AS c);
    first CONSTANT integer := last;
    d CONSTANT integer := cardinality(penalty.l1);
BEGIN
    SELECT c.point, c.slope INTO centre, slope FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = CASE WHEN at.heap THEN at.pass ELSE at.best END;
    signs := ARRAY(SELECT CASE WHEN c.b <> 0 THEN sign(c.b) ELSE -sign(c.a) END
        FROM unnest(centre, slope) WITH ORDINALITY AS c (b, a, j) ORDER BY c.j);
    shape := sqlsvm._near_shape(metric, penalty, centre, signs);
    FOR turn IN 1 .. 8 LOOP
        multipliers := sqlsvm._multipliers(shape, true, multipliers);
        extended := (sqlsvm._dual_at(shape, true, multipliers)).point;
        SELECT array_agg(CASE WHEN t.x IS NULL THEN e.b ELSE e.b + t.x END ORDER BY e.j) INTO point
        FROM unnest(extended[: d]) WITH ORDINALITY AS e (b, j) LEFT JOIN (
            SELECT metric.places[q.i] AS j, sum(q.x * extended[d + s.k]) AS x
            FROM pg_temp.sqlsvm_vectors AS s, unnest(s.vector) WITH ORDINALITY AS q (x, i)
            WHERE abs(extended[d + s.k]) > 1e-150 AND abs(q.x) > 1e-150 GROUP BY 1
        ) AS t ON t.j = e.j;
        any_broken := false;
        FOR broken IN
            SELECT e.j, r.way, r.edge
            FROM unnest(point, penalty.l1, penalty.low, penalty.high, metric.outside, signs) WITH ORDINALITY AS e (b, l1, low, high, outside, sign, j),
                LATERAL (VALUES (1, CASE WHEN e.l1 > 0 AND e.sign > 0 THEN greatest(e.low, 0) ELSE e.low END),
                    (-1, CASE WHEN e.l1 > 0 AND e.sign < 0 THEN least(e.high, 0) ELSE e.high END)) AS r (way, edge)
            WHERE e.outside IS NULL AND r.way * (e.b - r.edge) < -1e-9 * abs(centre[e.j] - r.edge)
        LOOP
            any_broken := true;
            last := last + 1;
            unit := array_fill(0::float8, ARRAY[d]);
            unit[broken.j] := -broken.way;
            INSERT INTO pg_temp.sqlsvm_cuts (place, is_cut, slope, intercept, turned, offset_size, slope_size)
            VALUES (last, false, unit, broken.way * broken.edge, sqlsvm._turned(metric, unit), 0, 0);
            multipliers := multipliers || 0::float8;
        END LOOP;
        EXIT WHEN NOT any_broken;
    END LOOP;
    DELETE FROM pg_temp.sqlsvm_cuts AS c WHERE c.place > first;
    RETURN ARRAY(SELECT CASE WHEN e.l1 > 0 AND e.outside IS NULL AND e.b * e.sign < 1e-9 * abs(c) THEN 0 ELSE e.b END
        FROM unnest(point, penalty.l1, metric.outside, signs, centre) WITH ORDINALITY AS e (b, l1, outside, sign, c, j) ORDER BY e.j);
END
$$;

COMMENT ON FUNCTION sqlsvm._metric_point(sqlsvm._state, sqlsvm._metric, sqlsvm._penalty) IS 'The next point of dane';
