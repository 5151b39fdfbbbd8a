-- A cut without a width holds for the hinge of any width, a soft cut only for its own.
CREATE OR REPLACE FUNCTION sqlsvm._tilt(tilted sqlsvm._tilted, width float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF tilted.slope IS NULL THEN
        RETURN array_fill(0::float8, ARRAY[cardinality(tilted.start)]);
    END IF;
    RETURN (SELECT sqlsvm._plus(tilted.slope, -1, s.slope)
        FROM sqlsvm._local_sums(tilted.local, tilted.start, coalesce(nullif(tilted.width, 0), width)) AS s);
END
$$;

COMMENT ON FUNCTION sqlsvm._tilt(sqlsvm._tilted, float8) IS 'The difference of the slopes of join and sample at the start';
