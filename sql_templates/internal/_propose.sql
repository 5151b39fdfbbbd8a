-- Where to look next. A pass that hardly shrank the gap is followed by one with a narrower hinge from the best iterate,
-- the next such by a level step, whose convergence needs no sample; and so in turn, until the level bundle takes over.
CREATE OR REPLACE FUNCTION sqlsvm._propose(
    p sqlsvm._problem, at sqlsvm._state, dane boolean, rows integer, lambda float8, tol float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    zero float8[] := array_fill(0::float8, ARRAY[p.dimension]);
    c record;
BEGIN
    IF at.pass = 0 THEN
        RETURN CASE WHEN dane THEN sqlsvm._tilted_optimum(rows, zero, NULL, lambda, tol) ELSE zero END;
    ELSIF dane AND at.stalls % 3 <> 2 AND at.stalls <= 6 THEN
        SELECT s.* INTO c FROM pg_temp.sqlsvm_cuts AS s
        WHERE s.pass = CASE WHEN at.stalls % 3 = 1 THEN at.best ELSE at.pass END;
        RETURN sqlsvm._tilted_optimum(rows, c.point, c.slope, lambda, tol / 4 ^ at.stalls);
    END IF;
    SELECT s.* INTO c FROM pg_temp.sqlsvm_cuts AS s WHERE s.pass = at.best;
    RETURN sqlsvm._level_point(
        at.gram, at.offsets, c.point, 0.7 * at.objective + 0.3 * at.lower_bound, lambda, at.alpha);
END
$$;

COMMENT ON FUNCTION sqlsvm._propose(sqlsvm._problem, sqlsvm._state, boolean, integer, float8, float8) IS 'The next point to look at';
