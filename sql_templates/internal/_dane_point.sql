-- The optimum of the tilted sample problem. Margins come with a density of about 0.3 at the hinge; with more than 2, they
-- come in heaps. Then, and after a soft pass, the next pass is soft as well, if passes may be; and from the first where
-- the rows on the hinge, as many as there are coordinates, are too large a part of the join to be counted whole.
CREATE OR REPLACE FUNCTION sqlsvm._dane_point(
    tilted sqlsvm._tilted, soft boolean, full_hinge boolean, tol float8, stalls integer,
    OUT point float8[], OUT width float8)
LANGUAGE plpgsql VOLATILE
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

COMMENT ON FUNCTION sqlsvm._dane_point(sqlsvm._tilted, boolean, boolean, float8, integer) IS 'The next point of DANE, and how soft the pass should be';
