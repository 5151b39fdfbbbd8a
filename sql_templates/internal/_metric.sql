-- The metric of a program, with the curvature of the penalty
-- The curvature of the loss was measured on a sample when the program was compiled. Any other one makes more passes, and the
-- same proof. A category that had no place in it has the density at the hinge times its share of the rows, and a number that weighed
-- nothing that density times its mean square. Categories that were one of all others have a place together. A bundle has that density along
-- each coordinate. Leaves sqlsvm_vectors.
CREATE OR REPLACE FUNCTION sqlsvm._metric(p sqlsvm._problem, program sqlsvm.programs, lambda float8, rounding sqlsvm._rounding, solver text)
RETURNS sqlsvm._metric LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    metric sqlsvm._metric;
    stored CONSTANT jsonb := program.start;
    theta CONSTANT float8[] := sqlsvm._theta(p, stored -> 'places');
    places CONSTANT float8[] := ARRAY(SELECT theta[f.terms[1]] FROM unnest(p.features) AS f ORDER BY f.place)
        || theta[p.coordinates + 1 :];
    columns CONSTANT integer := stored ->> 'columns';
    curvature CONSTANT float8 := stored ->> 'curvature';
    numbers CONSTANT integer := cardinality(p.features);
BEGIN
    IF solver = 'bundle' THEN
        RETURN ROW('{}', '{}', 1, array_fill(curvature, ARRAY[p.dimension]))::sqlsvm._metric;
    END IF;
    metric.rest := 1 / ((stored ->> 'rest')::float8 + 2 * lambda);
    metric.places := ARRAY(SELECT array_position(places, i::float8) FROM generate_series(1, columns) AS i ORDER BY i);
    INSERT INTO pg_temp.sqlsvm_vectors (k, vector)
    SELECT (e.n - 1) / columns + 1, array_agg(e.v::float8 ORDER BY e.n)
    FROM jsonb_array_elements_text(stored -> 'vectors') WITH ORDINALITY AS e (v, n) GROUP BY 1;
    metric.inside := ARRAY(SELECT 1 / (e.v::float8 + 2 * lambda) - metric.rest
        FROM jsonb_array_elements_text(stored -> 'values') WITH ORDINALITY AS e (v, n) ORDER BY e.n);
    metric.outside := ARRAY(SELECT CASE WHEN s.place > 0 AND s.turn = 1 THEN NULL WHEN s.j > numbers THEN curvature * p.total[s.j - numbers + p.coordinates] / p.n
            ELSE curvature * rounding.sizes[s.j] ^ 2 END
        FROM (SELECT e.place, e.j, row_number() OVER (PARTITION BY e.place ORDER BY e.j) AS turn
            FROM unnest(places) WITH ORDINALITY AS e (place, j)) AS s ORDER BY s.j);
    RETURN metric;
END $$;
