-- The intercept has an empty name.
CREATE OR REPLACE FUNCTION sqlsvm._features(p sqlsvm._problem)
RETURNS TABLE (place integer, raw integer, feature text, category text)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dictionary jsonb;
BEGIN
    RETURN QUERY
        SELECT k.j::integer, k.raw, p.design -> 'coordinates' -> (k.raw - 1) ->> 'feature', NULL::text
        FROM unnest(p.kept) WITH ORDINALITY AS k (raw, j);
    FOR dictionary IN SELECT d FROM jsonb_array_elements(p.design -> 'dictionaries') AS d LOOP
        RETURN QUERY EXECUTE format('SELECT (d.n + $1)::integer, d.n::integer, $2, coalesce(d.v::text, ''(other)'') FROM pg_temp.%I AS d',
            dictionary ->> 'table') USING cardinality(p.kept) - p.coordinates, dictionary ->> 'feature';
    END LOOP;
END
$$;

COMMENT ON FUNCTION sqlsvm._features(sqlsvm._problem) IS 'The features of a problem by place';
