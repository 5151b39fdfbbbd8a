-- argmin model(beta) + |beta - centre|^2 / 2, where the square is in the metric without the curvature of the penalty. The centre is
-- the best point. In a heap many points are about as good, and the slope at the latest one says most.
CREATE OR REPLACE FUNCTION sqlsvm._metric_point(at sqlsvm._state, metric sqlsvm._metric, lambda float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    centre CONSTANT float8[] := (
        SELECT c.point FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = CASE WHEN at.heap THEN at.pass ELSE at.best END);
    -- The cuts at the point to which the penalty alone would lead.
    offsets CONSTANT float8[] := ARRAY(
        SELECT c.intercept + sqlsvm._dot(c.slope, centre) - 2 * lambda * sqlsvm._dot(c.image, centre)
        FROM pg_temp.sqlsvm_cuts AS c ORDER BY c.pass);
    alpha CONSTANT float8[] := sqlsvm._simplex(sqlsvm._gram(true), offsets, 0.5, at.alpha);
BEGIN
    RETURN sqlsvm._plus(centre, -1, sqlsvm._image(metric, sqlsvm._plus(sqlsvm._mixed(alpha), 2 * lambda, centre)));
END
$$;

COMMENT ON FUNCTION sqlsvm._metric_point(sqlsvm._state, sqlsvm._metric, float8) IS 'The next point of dane';
