-- For links as pairs of bags: every other bag compresses its message, and a bag with k neighbours k - 2 products.
CREATE OR REPLACE FUNCTION sqlsvm._compressions(links jsonb)
RETURNS integer
LANGUAGE sql IMMUTABLE
AS $$
    SELECT jsonb_array_length(links) + coalesce(sum(greatest(0, d.degree - 2)), 0)::integer FROM (
        SELECT count(*) AS degree FROM jsonb_array_elements(links) AS l, jsonb_array_elements(l) AS bag GROUP BY bag) AS d
$$;

COMMENT ON FUNCTION sqlsvm._compressions(jsonb) IS 'How often a count of a sketch is rounded';
