-- The penalty and the constraints of a training
-- Leaves sqlsvm_limits. Rows that limit one weight are its ends; those between two weights are put into sqlsvm_cuts, with cuts that need no
-- pass: they pull back an intercept without a penalty (`Free.cuts` in solve/elastic.py).
CREATE OR REPLACE FUNCTION sqlsvm._penalty(p sqlsvm._problem, wanted jsonb)
RETURNS sqlsvm._penalty LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    penalty sqlsvm._penalty := sqlsvm._weights_of_penalty(p, wanted);
BEGIN
    CREATE TEMPORARY TABLE sqlsvm_limits AS SELECT l.* FROM sqlsvm._limits(p) AS l;
    SELECT array_agg(l.low ORDER BY j), array_agg(l.high ORDER BY j) INTO penalty.low, penalty.high
    FROM generate_series(1, p.dimension) AS j LEFT JOIN (
        SELECT l.at, max(l.edge / l.scale) FILTER (WHERE l.way > 0) AS low, min(l.edge / l.scale) FILTER (WHERE l.way < 0) AS high
        FROM pg_temp.sqlsvm_limits AS l WHERE l.other IS NULL GROUP BY l.at) AS l ON l.at = j;
    INSERT INTO pg_temp.sqlsvm_cuts (place, is_cut, slope, intercept, offset_size, slope_size)
    SELECT 1 + row_number() OVER (ORDER BY l.place), false, ARRAY(
        SELECT l.way * CASE j WHEN l.at THEN -1 WHEN l.other THEN 1 ELSE 0 END FROM generate_series(1, p.dimension) AS j ORDER BY j), 0, 0, 0
    FROM pg_temp.sqlsvm_limits AS l WHERE l.other IS NOT NULL;
    IF penalty.intercept IS NOT NULL THEN
        INSERT INTO pg_temp.sqlsvm_cuts (place, is_cut, slope, intercept, offset_size, slope_size)
        SELECT 1 + row_number() OVER (), true, sqlsvm._times(s.means, array_fill(-s.share * s.way * u.u, ARRAY[p.dimension])),
            s.share * (u.u * s.origin - u.conjugate), abs(u.u) * s.usual + abs(u.conjugate), abs(u.u)
        FROM sqlsvm._sides(p) AS s, jsonb_to_recordset(p.design -> 'loss' -> 'pulls') AS u (u float8, conjugate float8);
    END IF;
    RETURN penalty;
END $$;
