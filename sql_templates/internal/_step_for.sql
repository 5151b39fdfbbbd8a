-- The largest step that keeps (1 + step)^compressed <= 1 + epsilon. u = 1 + x rounds, but ln(u) / (u - 1) does not mind
-- which u it is, nor does (u - 1) / ln(u): so x ln(u) / (u - 1) is log(1 + x) to the last digits, and so back.
CREATE OR REPLACE FUNCTION sqlsvm._step_for(epsilon float8, compressed integer)
RETURNS float8
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    u float8 := 1 + epsilon;
    y float8 := CASE WHEN u = 1 THEN epsilon ELSE epsilon * ln(u) / (u - 1) END / greatest(1, compressed);
BEGIN
    u := exp(y);
    RETURN CASE WHEN u = 1 THEN y ELSE (u - 1) * y / ln(u) END * (1 - 1e-9);
END
$$;

COMMENT ON FUNCTION sqlsvm._step_for(float8, integer) IS 'The step of the levels of a sketch';
