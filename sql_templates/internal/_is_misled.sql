-- `is_misled` in solve/dane.py: does the metric close less of the gap than level steps? The gaps after each pass tell which kind each was.
-- Where one more pass with the metric should be the last one, it is made.
CREATE OR REPLACE FUNCTION sqlsvm._is_misled(gaps float8[], tol float8)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    metric float8[] := '{}';
    level float8[] := '{}';
    closed float8;
    usual float8;
    misled boolean := false;
BEGIN
    FOR i IN 2 .. cardinality(gaps) LOOP
        closed := ln(greatest(gaps[i - 1], 1e-300) / greatest(gaps[i], 1e-300));
        IF misled THEN
            level := level || closed;
        ELSE
            metric := metric || closed;
        END IF;
        usual := (SELECT avg(x) FROM unnest(metric[cardinality(metric) - 2 :]) AS x);
        misled := cardinality(metric) >= 3 AND gaps[i] * exp(-usual) > tol
            AND coalesce((SELECT avg(x) FROM unnest(level[cardinality(level) - 2 :]) AS x), -ln(0.78::float8)) > usual;
    END LOOP;
    RETURN misled;
END
$$;

COMMENT ON FUNCTION sqlsvm._is_misled(float8[], float8) IS 'Whether level steps close more of the gap than steps in the metric';
