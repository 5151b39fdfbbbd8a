-- Rows enough for the curvature; and where that is the whole join, with no row repeated and all of one weight, no more.
CREATE OR REPLACE FUNCTION sqlsvm._sample_size(p sqlsvm._problem, asked integer)
RETURNS integer
LANGUAGE sql IMMUTABLE
AS $$
    SELECT least(coalesce(asked, greatest(4000, least(20000, 400 * p.dimension))), CASE
        WHEN (p.design ->> 'one_bag')::boolean AND NOT (p.design ->> 'weighted')::boolean THEN ceil(p.n) END)::integer
$$;

COMMENT ON FUNCTION sqlsvm._sample_size(sqlsvm._problem, integer) IS 'How many join rows the curvature is taken from';
