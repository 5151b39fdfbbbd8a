-- Narrows further, until a soft cut at the point is as good as possible, except for its share of tol. In a heap of equal
-- margins an infinitesimal step moves the whole heap across the hinge. A cut that counts whole rows there cannot have the
-- slope that the optimum needs. A soft cut counts rows in part, so it can.
CREATE OR REPLACE FUNCTION sqlsvm._soft_optimum(
    tilted sqlsvm._tilted, start float8[], widest float8, tol float8, OUT point float8[], OUT width float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tilt float8[];
    wanted float8;
    blur float8;
BEGIN
    point := start;
    width := widest;
    LOOP
        tilt := sqlsvm._tilt(tilted, width);
        point := sqlsvm._minimise_local(tilted.local, point, tilt, width);
        wanted := 0.5 * tol * abs((sqlsvm._local_problem(tilted.local, point, tilt, 0)).value);
        -- How far the soft cut stays below the sample's hinge: max(0, z) less the share of z that it counts,
        -- which is |z| (width - |z|) / (2 width) near the hinge.
        EXECUTE format('SELECT sum(greatest(z * ($2 - z), 0)) / (2 * $2)
            FROM (SELECT abs(1 - (%s)) AS z FROM pg_temp.sqlsvm_local) AS a', sqlsvm._local_score(tilted.local))
        INTO blur USING point || 0::float8, width;
        blur := blur / (tilted.local).rows;
        EXIT WHEN width < 1e-8 OR blur <= wanted;
        width := width * greatest(0.1, 0.8 * sqrt(wanted / blur));
    END LOOP;
END
$$;

COMMENT ON FUNCTION sqlsvm._soft_optimum(sqlsvm._tilted, float8[], float8, float8) IS
    'The next point of DANE and the width of its pass if margins are in heaps';
