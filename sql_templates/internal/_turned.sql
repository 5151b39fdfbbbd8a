-- A vector along the eigenvectors of the metric
CREATE OR REPLACE FUNCTION sqlsvm._turned(metric sqlsvm._metric, v float8[])
RETURNS float8[] LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    dense CONSTANT float8[] := ARRAY(SELECT coalesce(v[d.place], 0) FROM unnest(metric.places) WITH ORDINALITY AS d (place, i) ORDER BY d.i);
BEGIN
    RETURN ARRAY(SELECT (SELECT coalesce(sum(e.q * e.x) FILTER (WHERE abs(e.q) > 1e-150 AND abs(e.x) > 1e-150), 0) FROM unnest(s.vector, dense) AS e (q, x))
        FROM pg_temp.sqlsvm_vectors AS s ORDER BY s.k);
END $$;
