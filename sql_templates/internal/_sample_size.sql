-- Enough rows for the curvature. If there are very many coordinates, most are categories, and a row has only one. If the whole
-- join is not much larger, no row is repeated and all have one weight, the sample is the whole join.
CREATE OR REPLACE FUNCTION sqlsvm._sample_size(p sqlsvm._problem, asked integer)
RETURNS integer
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN (p.design ->> 'one_bag')::boolean AND NOT (p.design ->> 'weighted')::boolean
            AND p.n <= s.size * CASE WHEN asked IS NULL THEN 1.5 ELSE 1 END THEN ceil(p.n)::integer ELSE s.size END
    FROM (SELECT coalesce(asked, greatest(4000, least(400 * p.dimension, 60000), least(3 * p.dimension, 1000000)))) AS s (size)
$$;

COMMENT ON FUNCTION sqlsvm._sample_size(sqlsvm._problem, integer) IS 'How many join rows the curvature is taken from';
