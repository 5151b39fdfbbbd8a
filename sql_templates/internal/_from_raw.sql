CREATE OR REPLACE FUNCTION sqlsvm._from_raw(p sqlsvm._problem, sums float8[])
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found float8[] := '{}';
    w float8;
    term integer;
BEGIN
    FOR j IN 1 .. cardinality(p.kept) LOOP
        w := sums[p.kept[j]];
        FOREACH term IN ARRAY sqlsvm._ties(p.design, p.kept[j]) LOOP
            w := w + sums[term];
        END LOOP;
        IF p.missing[j] IS NOT NULL THEN
            w := w + p.mean[j] * sums[p.missing[j]];
        END IF;
        IF p.centre[j] <> 0 THEN
            w := w - p.centre[j] * sums[p.constant];
        END IF;
        found := found || w * p.scale[j];
    END LOOP;
    RETURN found || sums[p.coordinates + 1 :];
END
$$;

COMMENT ON FUNCTION sqlsvm._from_raw(sqlsvm._problem, float8[]) IS 'Sums over raw coordinates as sums over scaled features';
