-- The largest step with (1 + step)^compressed <= 1 + epsilon. u = 1 + x is rounded, but ln(u) / (u - 1) hardly depends on u,
-- nor does its inverse: so x ln(u) / (u - 1) is log(1 + x) to the last digits, and the inverse likewise.
CREATE OR REPLACE FUNCTION sqlsvm._step_for(epsilon float8, links jsonb)
RETURNS float8
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- For links as pairs of bags: every other bag compresses its message, and a bag with k neighbours k - 2 products.
    compressed integer := (
        SELECT jsonb_array_length(links) + coalesce(sum(greatest(0, d.degree - 2)), 0) FROM (
            SELECT count(*) AS degree FROM jsonb_array_elements(links) AS l, jsonb_array_elements(l) AS bag GROUP BY bag) AS d);
    u float8 := 1 + epsilon;
    y float8 := CASE WHEN u = 1 THEN epsilon ELSE epsilon * ln(u) / (u - 1) END / greatest(1, compressed);
BEGIN
    u := exp(y);
    RETURN CASE WHEN u = 1 THEN y ELSE (u - 1) * y / ln(u) END * (1 - 1e-9);
END
$$;

COMMENT ON FUNCTION sqlsvm._step_for(float8, jsonb) IS 'The step of the levels of a sketch';
