-- Three times: as value, lower bound and upper bound. o is 1 for y = -1. The weight of the class is divided out.
CREATE OR REPLACE FUNCTION sqlsvm._above(p sqlsvm._problem, answer jsonb, o integer)
RETURNS float8[]
LANGUAGE sql IMMUTABLE
AS $$
    SELECT array_fill(coalesce(sum(r.above), 0) / CASE _above.o WHEN 1 THEN p.weight_negative ELSE p.weight_positive END, ARRAY[3])
    FROM jsonb_to_recordset(answer) AS r (o integer, above float8) WHERE r.o = _above.o
$$;

COMMENT ON FUNCTION sqlsvm._above(sqlsvm._problem, jsonb, integer) IS 'Rows of a class with a score above 0, as value and bounds';
