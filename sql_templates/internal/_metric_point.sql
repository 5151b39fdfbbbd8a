-- The next point of dane
-- argmin model(beta) + |beta - centre|^2 / 2, where the square is in the metric without the curvature of the penalty. The centre is
-- the best point. In a heap many points are about as good, and the slope at the latest one says most. Where a dense weight leaves
-- its limits, or its sign, a limit is added for this step. What is held at 0 with more than twice l1 goes to the other side.
CREATE OR REPLACE FUNCTION sqlsvm._metric_point(at sqlsvm._state, metric sqlsvm._metric, penalty sqlsvm._penalty)
RETURNS float8[] LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
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
    held integer[] := '{}';
    crossed integer[];
    first CONSTANT integer := (SELECT max(c.place) FROM pg_temp.sqlsvm_cuts AS c);
    known CONSTANT integer := cardinality(at.alpha);
    enough boolean;
    d CONSTANT integer := cardinality(penalty.l1);
BEGIN
    SELECT c.point, c.slope[: d] INTO centre, slope FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = CASE WHEN at.heap THEN at.pass ELSE at.best END;
    signs := ARRAY(SELECT CASE WHEN c.b <> 0 THEN sign(c.b) ELSE -sign(c.a) END
        FROM unnest(centre, slope) WITH ORDINALITY AS c (b, a, j) ORDER BY c.j);
    FOR turn IN 1 .. 12 LOOP
        shape := sqlsvm._near_shape(metric, penalty, centre, signs);
        multipliers := sqlsvm._multipliers(shape, multipliers);
        crossed := ARRAY(SELECT h.i FROM unnest(held, multipliers[known + 1 :]) WITH ORDINALITY AS h (j, force, i) WHERE h.force > 2 * penalty.l1[h.j]);
        enough := crossed = '{}';
        FOR i IN 1 .. cardinality(crossed) LOOP
            signs[held[crossed[i]]] := -signs[held[crossed[i]]];
            multipliers[known + crossed[i]] := 0;
            UPDATE pg_temp.sqlsvm_cuts AS c SET slope = sqlsvm._plus(c.slope, -2, c.slope) WHERE c.place = first + crossed[i];
        END LOOP;
        CONTINUE WHEN NOT enough;
        extended := (sqlsvm._dual_at(shape, multipliers)).point;
        SELECT array_agg(CASE WHEN t.x IS NULL THEN e.b ELSE e.b + t.x END ORDER BY e.j) INTO point
        FROM unnest(extended[: d]) WITH ORDINALITY AS e (b, j) LEFT JOIN (
            SELECT metric.places[q.i] AS j, sum(q.x * extended[d + s.k]) AS x
            FROM pg_temp.sqlsvm_vectors AS s, unnest(s.vector) WITH ORDINALITY AS q (x, i)
            WHERE abs(extended[d + s.k]) > 1e-150 AND abs(q.x) > 1e-150 GROUP BY 1
        ) AS t ON t.j = e.j;
        FOR broken IN
            SELECT e.j, r.way, r.edge, r.way = e.sign AND e.l1 > 0 AND (r.way * r.ending >= 0) IS NOT TRUE AS has_sign
            FROM unnest(point, penalty.l1, penalty.low, penalty.high, metric.outside, signs) WITH ORDINALITY AS e (b, l1, low, high, outside, sign, j),
                LATERAL (VALUES (1, e.low, CASE WHEN e.l1 > 0 AND e.sign > 0 THEN greatest(e.low, 0) ELSE e.low END),
                    (-1, e.high, CASE WHEN e.l1 > 0 AND e.sign < 0 THEN least(e.high, 0) ELSE e.high END)) AS r (way, ending, edge)
            WHERE e.outside IS NULL AND r.way * (e.b - r.edge) < -1e-9 * abs(centre[e.j] - r.edge)
        LOOP
            enough := false;
            held := held || CASE WHEN broken.has_sign THEN broken.j::integer END;
            unit := array_fill(0::float8, ARRAY[d]);
            unit[broken.j] := -broken.way;
            INSERT INTO pg_temp.sqlsvm_cuts (place, is_cut, slope, intercept, offset_size, slope_size)
            VALUES (first + cardinality(held), false, unit || sqlsvm._turned(metric, unit), broken.way * broken.edge, 0, 0);
            multipliers := multipliers || 0::float8;
        END LOOP;
        EXIT WHEN enough;
    END LOOP;
    DELETE FROM pg_temp.sqlsvm_cuts AS c WHERE c.place > first;
    RETURN ARRAY(SELECT CASE WHEN e.l1 > 0 AND e.outside IS NULL AND e.b * e.sign < 1e-9 * abs(c) THEN 0 ELSE e.b END
        FROM unnest(point, penalty.l1, metric.outside, signs, centre) WITH ORDINALITY AS e (b, l1, outside, sign, c, j) ORDER BY e.j);
END $$;
