-- E = (1/N) sum over |total| < delta of (delta - |total|), where delta is the sum of the rounding errors; 0 if exact.
CREATE OR REPLACE FUNCTION sqlsvm._counting_error(p sqlsvm._problem, answers jsonb, h float8)
RETURNS float8
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    delta float8;
    near CONSTANT text := p.design ->> 'near';
BEGIN
    IF (p.design ->> 'one_bag')::boolean OR p.design ->> 'method' = 'exact' THEN
        RETURN 0;
    END IF;
    IF NOT answers ? near THEN  -- without this answer the error would seem to be 0
        RAISE EXCEPTION 'the program has no statement "%"', near
            USING ERRCODE = 'SV002', HINT = 'Compile it again: sqlsvm compile.';
    END IF;
    delta := (SELECT coalesce(sum((answers -> ('rounding ' || bag) -> 0 ->> 'error')::float8), 0)
        FROM jsonb_array_elements_text(p.design -> 'scored_bags') AS bag);
    IF delta > (p.design ->> 'reach')::integer + 1 THEN  -- a score beyond all buckets: but |error| <= delta
        RETURN delta / h;
    END IF;
    RETURN (SELECT coalesce(sum(greatest(0, delta - abs(n.total)) * n.c), 0) / h / p.n
        FROM jsonb_to_recordset(answers -> near) AS n (total float8, c float8));
END
$$;

COMMENT ON FUNCTION sqlsvm._counting_error(sqlsvm._problem, jsonb, float8) IS 'How much the value of a pass may be too low';
