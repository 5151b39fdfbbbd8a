-- The curvature of the loss was measured on a sample when the program was compiled. Any other one makes more passes, and the
-- same proof. A category that had no place in it has the density at the hinge times its share of the rows.
CREATE OR REPLACE FUNCTION sqlsvm._metric(p sqlsvm._problem, program sqlsvm.programs, lambda float8)
RETURNS sqlsvm._metric
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    metric sqlsvm._metric;
    stored CONSTANT jsonb := program.start;
    theta CONSTANT float8[] := sqlsvm._theta(p, stored -> 'places');
    places CONSTANT float8[] := ARRAY(SELECT theta[k] FROM unnest(p.kept) WITH ORDINALITY AS s (k, j) ORDER BY j)
        || theta[p.coordinates + 1 :];
    rest CONSTANT float8 := 1 / ((stored ->> 'rest')::float8 + 2 * lambda);
    curvature CONSTANT float8 := stored ->> 'curvature';
    numbers CONSTANT integer := cardinality(p.kept);
BEGIN
    metric.places := ARRAY(SELECT array_position(places, i::float8) FROM generate_series(1, (stored ->> 'columns')::integer) AS i ORDER BY i);
    metric.vectors := ARRAY(SELECT e.v::float8 FROM jsonb_array_elements_text(stored -> 'vectors') WITH ORDINALITY AS e (v, n) ORDER BY e.n);
    metric.inside := ARRAY(SELECT 1 / (e.v::float8 + 2 * lambda) - rest
        FROM jsonb_array_elements_text(stored -> 'values') WITH ORDINALITY AS e (v, n) ORDER BY e.n);
    metric.outside := ARRAY(SELECT CASE WHEN s.place > 0 THEN rest
            ELSE 1 / (curvature * p.total[s.j - numbers + p.coordinates] / p.n + 2 * lambda) END
        FROM unnest(places) WITH ORDINALITY AS s (place, j) ORDER BY s.j);
    RETURN metric;
END
$$;

COMMENT ON FUNCTION sqlsvm._metric(sqlsvm._problem, sqlsvm.programs, float8) IS 'The metric of a program, with the curvature of the penalty';
