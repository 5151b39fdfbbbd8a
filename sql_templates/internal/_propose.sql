-- The next point and the width of its pass. After a pass that hardly shrank the gap, the next one is narrower and at the best
-- iterate, or a level step, which converges without a sample. These two alternate until the level bundle takes over.
CREATE OR REPLACE FUNCTION sqlsvm._propose(
    p sqlsvm._problem, at sqlsvm._state, local sqlsvm._local, lambda float8, tol float8,
    OUT point float8[], OUT width float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stalls integer := coalesce(at.stalls, 0);
    tilted sqlsvm._tilted := (local, array_fill(0::float8, ARRAY[p.dimension]), NULL, 0);
    full_hinge boolean := (p.dimension / (2 * p.n)) ^ 2 / (4 * lambda) > 0.2 * tol;
    centre float8[];
BEGIN
    width := 0;
    IF at.pass > 0 AND (local IS NULL OR stalls % 3 = 2 OR stalls > 6) THEN
        SELECT c.point INTO centre FROM pg_temp.sqlsvm_cuts AS c WHERE c.pass = at.best;
        point := sqlsvm._level_point(
            at.gram, at.offsets, centre, 0.7 * at.objective + 0.3 * at.lower_bound, lambda, at.alpha);
    ELSIF local IS NULL THEN
        point := tilted.start;
    ELSE
        IF at.pass > 0 THEN
            SELECT local, c.point, c.slope, c.width INTO tilted FROM pg_temp.sqlsvm_cuts AS c
            WHERE c.pass = CASE WHEN stalls % 3 = 1 THEN at.best ELSE at.pass END;
        END IF;
        SELECT s.point, s.width INTO point, width
        FROM sqlsvm._dane_point(tilted, (p.design ->> 'one_bag')::boolean, full_hinge, tol, stalls) AS s;
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._propose(sqlsvm._problem, sqlsvm._state, sqlsvm._local, float8, float8) IS 'The next point to look at';
