-- A point nearby that satisfies all limits, each step the shortest that makes equations of the rows that were violated. What is 0 stays
-- 0 if that can be. solve/constraint.py allows for the same rounding.
CREATE OR REPLACE FUNCTION sqlsvm._repaired(penalty sqlsvm._penalty, point float8[])
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    b float8[] := point;
    held integer[] := '{}';
    rows float8[];
    step float8[];
    m integer;
BEGIN
    FOR turn IN 1 .. 200 LOOP
        b := ARRAY(SELECT least(greatest(e.b, e.low), e.high) FROM unnest(b, penalty.low, penalty.high) WITH ORDINALITY AS e (b, low, high, j) ORDER BY e.j);
        m := cardinality(held);
        held := ARRAY(SELECT v.place FROM (
            SELECT c.place, -c.intercept - sqlsvm._dot(c.slope, b) AS slack,
                1e-13 * (abs(c.intercept) + (SELECT sum(abs(e.a * e.b)) FROM unnest(c.slope, b) AS e (a, b))) AS rounded
            FROM pg_temp.sqlsvm_limits AS c WHERE c.slope IS NOT NULL) AS v
            WHERE v.slack < -v.rounded OR v.place = ANY (held) AND turn % 50 > 0 ORDER BY v.place);
        IF NOT EXISTS (
            SELECT FROM pg_temp.sqlsvm_limits AS c WHERE c.slope IS NOT NULL AND -c.intercept - sqlsvm._dot(c.slope, b)
                < -CASE WHEN turn < 150 THEN 1e-13 ELSE 1e-9 END * (abs(c.intercept) + (SELECT sum(abs(e.a * e.b)) FROM unnest(c.slope, b) AS e (a, b))))
        THEN
            RETURN b;
        END IF;
        -- Along coordinates that can move: at first along those that are not 0, and not those at an end.
        step := ARRAY(SELECT CASE WHEN (turn > 50 OR e.b <> 0) AND (turn > 100 OR (e.b = e.low OR e.b = e.high) IS NOT TRUE) THEN 1 ELSE 0 END
            FROM unnest(b, penalty.low, penalty.high) WITH ORDINALITY AS e (b, low, high, j) ORDER BY e.j);
        SELECT array_agg(sqlsvm._dot(sqlsvm._times(x.slope, step), y.slope) ORDER BY x.place, y.place) INTO rows
        FROM pg_temp.sqlsvm_limits AS x, pg_temp.sqlsvm_limits AS y
        WHERE x.place = ANY (held) AND y.place = ANY (held) AND y.place <= x.place;
        m := cardinality(held);
        rows := sqlsvm._solve(rows, array_fill((SELECT 1e-14 * max(abs(r)) + 1e-300 FROM unnest(rows) AS r), ARRAY[m]), ARRAY(
            SELECT -c.intercept - sqlsvm._dot(c.slope, b) FROM pg_temp.sqlsvm_limits AS c WHERE c.place = ANY (held) ORDER BY c.place));
        FOR k IN 1 .. m LOOP
            b := sqlsvm._plus(b, rows[k], sqlsvm._times((SELECT c.slope FROM pg_temp.sqlsvm_limits AS c WHERE c.place = held[k]), step));
        END LOOP;
    END LOOP;
    RAISE EXCEPTION 'no weights that satisfy all constraints were found' USING ERRCODE = 'SV003',
        DETAIL = 'There may be none for the data as they are now.', HINT = 'Compile the query again: sqlsvm compile names the rows that conflict.';
END
$$;

COMMENT ON FUNCTION sqlsvm._repaired(sqlsvm._penalty, float8[]) IS 'A point nearby that satisfies all limits';
