CREATE OR REPLACE FUNCTION sqlsvm._kind_of_pass(p sqlsvm._problem, width float8)
RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT k FROM jsonb_array_elements(p.design -> 'passes') WITH ORDINALITY AS s (k, place)
    WHERE coalesce((k ->> 'width')::float8, width) = width ORDER BY place LIMIT 1
$$;

COMMENT ON FUNCTION sqlsvm._kind_of_pass(sqlsvm._problem, float8) IS 'What is known of the passes of this width; a program may have passes of a few widths only';
