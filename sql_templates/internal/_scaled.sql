-- How the features of a problem are scaled: standard, maxabs or none
-- The constant is the first coordinate and the first feature, and centring needs it. A sum over several tables has
-- several terms, and in no row is one of them missing.
CREATE OR REPLACE FUNCTION sqlsvm._scaled(p sqlsvm._problem, how text)
RETURNS sqlsvm._problem LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    f sqlsvm._feature;
    item jsonb;
    present float8;
    width float8;
BEGIN
    p.features := '{}';
    FOR item IN SELECT i FROM jsonb_array_elements(p.design -> 'features') AS i LOOP
        f := (cardinality(p.features) + 1, item ->> 'feature', ARRAY(SELECT jsonb_array_elements_text(item -> 'terms')),
            item ->> 'missing', 1, 0, 0, coalesce((item ->> 'origin')::float8, 0));
        IF f.name = '' THEN
            p.constant := f.terms[1];
        ELSE
            present := p.n - coalesce(p.total[f.missing], 0);
            f.mean := CASE WHEN present > 0 THEN (SELECT sum(p.total[t]) FROM unnest(f.terms) AS t) / present ELSE 0 END;
            f.centre := CASE WHEN p.constant IS NULL THEN 0 WHEN how = 'standard' THEN f.mean ELSE -f.origin END;
            SELECT CASE
                WHEN how = 'standard' AND v.variance > 1e-12 * v.squares THEN sqrt(v.variance / p.n)
                WHEN how = 'maxabs' AND cardinality(f.terms) = 1 THEN
                    greatest(p.largest[f.terms[1]], CASE WHEN present < p.n THEN abs(f.mean) END) END
            INTO width FROM sqlsvm._variance(p, f.terms, present) AS v;
            f.scale := 1 / coalesce(nullif(width, 0), 1);
        END IF;
        p.features := p.features || f;
    END LOOP;
    p.coordinates := jsonb_array_length(p.design -> 'coordinates');
    p.dimension := cardinality(p.features) + p.size - p.coordinates;
    RETURN p;
END $$;
