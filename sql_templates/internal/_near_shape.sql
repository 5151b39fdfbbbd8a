-- What is minimised together with the cuts: the penalty and the distance from a point, in the metric
-- On dense columns l1 is taken for linear, with the sign that a weight has or will have; _metric_point adds the limits that this needs.
-- Along the eigenvectors the inverse of the metric is what they add to that of what they leave out.
CREATE OR REPLACE FUNCTION sqlsvm._near_shape(metric sqlsvm._metric, penalty sqlsvm._penalty, centre float8[], signs float8[])
RETURNS sqlsvm._shape LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pull CONSTANT float8[] := ARRAY(SELECT CASE WHEN c.j = penalty.intercept OR abs(c.b) <= 1e-150 THEN 0 ELSE 2 * penalty.lambda * c.b END + c.l1 * c.sign
        FROM unnest(centre, penalty.l1, signs) WITH ORDINALITY AS c (b, l1, sign, j) ORDER BY c.j);
    shape sqlsvm._shape;
BEGIN
    SELECT array_agg(e.weight ORDER BY e.j),
        array_agg(CASE WHEN e.m IS NULL THEN pull[e.j] ELSE 0 END - CASE WHEN abs(e.b) > 1e-150 THEN e.b * coalesce(e.m, 1 / metric.rest) ELSE 0 END ORDER BY e.j),
        array_agg(CASE WHEN e.m IS NULL THEN 0 ELSE penalty.l1[e.j] END ORDER BY e.j),
        array_agg(CASE WHEN e.m IS NOT NULL THEN penalty.low[e.j] END ORDER BY e.j),
        array_agg(CASE WHEN e.m IS NOT NULL THEN penalty.high[e.j] END ORDER BY e.j)
    INTO shape.weight, shape.pull, shape.l1, shape.low, shape.high
    FROM (SELECT c.j, c.b, c.m, coalesce(1 / (c.m + 2 * penalty.lambda), metric.rest) AS weight
        FROM unnest(centre, metric.outside) WITH ORDINALITY AS c (b, m, j)) AS e;
    shape.weight := shape.weight || metric.inside;
    shape.pull := shape.pull || sqlsvm._turned(metric, pull);
    shape.l1 := shape.l1 || array_fill(0::float8, ARRAY[cardinality(metric.inside)]);
    shape.low := shape.low || array_fill(NULL::float8, ARRAY[cardinality(metric.inside)]);
    shape.high := shape.high || array_fill(NULL::float8, ARRAY[cardinality(metric.inside)]);
    RETURN shape;
END $$;
