-- theta on raw coordinates gives the scores that beta gives on features.
CREATE OR REPLACE FUNCTION sqlsvm._to_raw(p sqlsvm._problem, beta float8[])
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    numbers integer := cardinality(p.kept);
    theta float8[] := array_fill(0::float8, ARRAY[p.coordinates]);
    w float8;
    term integer;
BEGIN
    FOR j IN 1 .. numbers LOOP
        w := beta[j] * p.scale[j];
        theta[p.kept[j]] := theta[p.kept[j]] + w;
        FOREACH term IN ARRAY sqlsvm._ties(p.design, p.kept[j]) LOOP
            theta[term] := w;
        END LOOP;
        IF p.missing[j] IS NOT NULL THEN
            theta[p.missing[j]] := w * p.mean[j];
        END IF;
        IF p.centre[j] <> 0 THEN
            theta[p.constant] := theta[p.constant] - w * p.centre[j];
        END IF;
    END LOOP;
    RETURN theta || beta[numbers + 1 :];
END
$$;

COMMENT ON FUNCTION sqlsvm._to_raw(sqlsvm._problem, float8[]) IS 'Weights of scaled features as weights of raw coordinates';
