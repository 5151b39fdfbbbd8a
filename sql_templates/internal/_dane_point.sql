-- The optimum of the tilted sample problem. Usually the density of margins at the hinge is about 0.3; above 2 there are
-- heaps of equal margins. Then the next pass is soft, if that is allowed, and also after a soft pass. The first pass is
-- soft if as many rows as there are coordinates are a large part of the join.
CREATE OR REPLACE FUNCTION sqlsvm._dane_point(
    tilted sqlsvm._tilted, soft boolean, full_hinge boolean, tol float8, stalls integer,
    OUT point float8[], OUT width float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF soft AND (tilted.width > 0 OR full_hinge) THEN
        point := tilted.start;
        width := coalesce(nullif(tilted.width, 0), 0.2);
        tol := tol / 4 ^ (stalls / 3);
    ELSE
        tol := tol / 4 ^ stalls;
        SELECT s.point, s.width INTO point, width FROM sqlsvm._tilted_optimum(tilted, tol) AS s;
        IF NOT soft OR sqlsvm._local_density(tilted.local, point, width) <= 2 THEN
            width := 0;
            RETURN;
        END IF;
    END IF;
    SELECT s.point, s.width INTO point, width FROM sqlsvm._soft_optimum(tilted, point, width, tol) AS s;
END
$$;

COMMENT ON FUNCTION sqlsvm._dane_point(sqlsvm._tilted, boolean, boolean, float8, integer) IS
    'The next point of DANE, and the width of a soft pass';
