-- E = (1/N) sum over |total| < delta of (delta - |total|), where delta is the sum of the rounding errors; 0 if exact.
CREATE OR REPLACE FUNCTION sqlsvm._counting_error(p sqlsvm._problem, answers jsonb, h float8)
RETURNS float8
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    delta float8;
BEGIN
    IF (p.design ->> 'one_bag')::boolean OR p.design ->> 'method' = 'exact' THEN
        RETURN 0;
    END IF;
    delta := (SELECT coalesce(sum((answers -> ('rounding ' || bag) -> 0 ->> 'error')::float8), 0)
        FROM jsonb_array_elements_text(p.design -> 'scored_bags') AS bag);
    IF delta > (p.design ->> 'reach')::integer + 1 THEN  -- a score beyond all buckets: but |error| <= delta
        RETURN delta / h;
    END IF;
    RETURN (SELECT coalesce(sum(greatest(0, delta - abs(near.total)) * near.c), 0) / h / p.n
        FROM jsonb_to_recordset(answers -> 'totals near 0') AS near (total float8, c float8));
END
$$;

COMMENT ON FUNCTION sqlsvm._counting_error(sqlsvm._problem, jsonb, float8) IS 'How much the value of a pass may be too low';
