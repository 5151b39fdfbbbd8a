-- The largest step with (1 + step)^compressed <= 1 + epsilon. u = 1 + x is rounded, but ln(u) / (u - 1) hardly depends on u,
-- nor does its inverse: so x ln(u) / (u - 1) is log(1 + x) to the last digits, and the inverse likewise.
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
