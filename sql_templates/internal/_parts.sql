-- A scaled number is the sum of factor times a raw coordinate
-- A missing number is its mean. The coordinate of categories is the one of their feature, so they have no part here.
CREATE OR REPLACE FUNCTION sqlsvm._parts(p sqlsvm._problem)
RETURNS TABLE (place integer, raw integer, factor float8)
LANGUAGE sql IMMUTABLE AS $$
    SELECT f.place, part.raw, f.scale * part.factor
    FROM unnest(p.features) AS f, LATERAL (
        SELECT t, 1 FROM unnest(f.terms) AS t
        UNION ALL SELECT f.missing, (f.mean + f.origin) - f.origin WHERE f.missing IS NOT NULL
        UNION ALL SELECT p.constant, -f.centre WHERE f.centre <> 0) AS part (raw, factor)
$$;
