CREATE OR REPLACE FUNCTION sqlsvm._possible_width(p sqlsvm._problem, wanted float8)
RETURNS float8
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(max(least(w.width, wanted)) FILTER (WHERE w.any OR w.width <= wanted), min(w.width), 0)
    FROM (SELECT k ->> 'width' IS NULL AS any, coalesce((k ->> 'width')::float8, wanted) AS width
        FROM jsonb_array_elements(p.design -> 'passes') AS k) AS w
    WHERE w.width > 0
$$;

COMMENT ON FUNCTION sqlsvm._possible_width(sqlsvm._problem, float8) IS 'The largest width of a soft pass up to this one; the least if there is none; 0 if a program has no soft passes';
