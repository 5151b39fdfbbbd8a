-- Leaves sqlsvm_limits, with the rows that limit one weight, and puts all other rows into sqlsvm_cuts, with cuts that need no pass:
-- they pull back an intercept without a penalty (`Free.cuts` in solve/elastic.py). Rows have the length 1, for their units are any.
CREATE OR REPLACE FUNCTION sqlsvm._penalty(p sqlsvm._problem, wanted jsonb)
RETURNS sqlsvm._penalty
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    penalty sqlsvm._penalty := sqlsvm._weights_of_penalty(p, wanted);
    constrain CONSTANT jsonb := coalesce(wanted -> 'problem' -> 'constrain', '[]');
    limited record;
BEGIN
    CREATE TEMPORARY TABLE sqlsvm_limits (place integer, name text, at integer, coefficient float8, slope float8[], intercept float8);
    IF constrain <> '[]' THEN
        INSERT INTO pg_temp.sqlsvm_limits (place, name, at, coefficient, slope, intercept)
        SELECT row_number() OVER (), l.name, l.at, l.coefficient, CASE WHEN l.slope IS NOT NULL THEN sqlsvm._times(l.slope, array_fill(-1::float8, ARRAY[p.dimension])) END, -l.shift
        FROM sqlsvm._limits(p, constrain) AS l;
    END IF;
    FOR limited IN SELECT l.at, l.coefficient > 0 AS is_low, l.intercept / l.coefficient AS edge FROM pg_temp.sqlsvm_limits AS l WHERE l.at IS NOT NULL LOOP
        IF limited.is_low THEN
            penalty.low[limited.at] := greatest(penalty.low[limited.at], limited.edge);
        ELSE
            penalty.high[limited.at] := least(penalty.high[limited.at], limited.edge);
        END IF;
    END LOOP;
    INSERT INTO pg_temp.sqlsvm_cuts (place, is_cut, slope, intercept, offset_size, slope_size)
    SELECT 1 + row_number() OVER (ORDER BY l.place), false, sqlsvm._times(l.slope, array_fill(u.unit, ARRAY[p.dimension])), l.intercept * u.unit, 0, 0
    FROM pg_temp.sqlsvm_limits AS l, LATERAL (SELECT coalesce(1 / nullif(sqrt(sqlsvm._dot(l.slope, l.slope)), 0), 1) AS unit) AS u WHERE l.slope IS NOT NULL;
    IF penalty.intercept IS NOT NULL THEN
        INSERT INTO pg_temp.sqlsvm_cuts (place, is_cut, slope, intercept, offset_size, slope_size)
        SELECT last.place + row_number() OVER (), true, sqlsvm._times(s.means, array_fill(-s.share * s.way * u.u, ARRAY[p.dimension])),
            s.share * (u.u * s.origin - u.conjugate), abs(u.u) * s.usual + abs(u.conjugate), abs(u.u)
        FROM sqlsvm._sides(p) AS s, jsonb_to_recordset(p.design -> 'loss' -> 'pulls') AS u (u float8, conjugate float8),
            (SELECT max(c.place) AS place FROM pg_temp.sqlsvm_cuts AS c) AS last;
    END IF;
    RETURN penalty;
END
$$;

COMMENT ON FUNCTION sqlsvm._penalty(sqlsvm._problem, jsonb) IS 'The penalty and the constraints of a training';
