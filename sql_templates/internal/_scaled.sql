-- Feature j is scale_j (x_j - centre_j); a missing x_j is the mean of the others. Centring needs the constant.
CREATE OR REPLACE FUNCTION sqlsvm._scaled(p sqlsvm._problem, how text)
RETURNS sqlsvm._problem
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c jsonb;
    value integer;
    absent integer;
    present float8;
    mean float8;
    spread float8;
    terms integer[];
BEGIN
    p.kept := '{}'; p.missing := '{}'; p.scale := '{}'; p.mean := '{}'; p.centre := '{}';
    p.constant := (SELECT (i ->> 'place')::integer FROM jsonb_array_elements(p.design -> 'coordinates') AS i
        WHERE i ->> 'role' = 'intercept');
    FOR c IN SELECT i FROM jsonb_array_elements(p.design -> 'coordinates') AS i
        WHERE i ->> 'role' NOT IN ('missing', 'term')
    LOOP
        value := c ->> 'place';
        terms := value || sqlsvm._ties(p.design, value);
        absent := CASE WHEN cardinality(terms) = 1 THEN (  -- in no row is a term missing
            SELECT (i ->> 'place')::integer FROM jsonb_array_elements(p.design -> 'coordinates') AS i
            WHERE i ->> 'role' = 'missing' AND i ->> 'feature' = c ->> 'feature') END;
        present := p.n - coalesce(p.total[absent], 0);
        mean := CASE WHEN c ->> 'role' = 'value' AND present > 0 THEN p.total[value] / present ELSE 0 END;
        spread := 1;
        IF c ->> 'role' = 'value' AND how = 'maxabs' THEN
            spread := greatest(p.largest[value], CASE WHEN p.total[absent] > 0 THEN abs(mean) ELSE 0 END);
        ELSIF c ->> 'role' = 'value' AND how = 'standard' THEN
            spread := (p.squares[value] - present * mean * mean) / p.n;
            spread := CASE WHEN spread > 1e-12 * p.squares[value] / p.n THEN sqrt(spread) ELSE 1 END;
        END IF;
        IF cardinality(terms) > 1 THEN
            mean := (SELECT sum(p.total[t]) / p.n FROM unnest(terms) AS t);
            spread := 1;
            IF how = 'standard' THEN
                SELECT CASE WHEN v.variance > 1e-12 * v.squares THEN sqrt(v.variance / p.n) ELSE 1 END INTO spread
                FROM sqlsvm._variance(p, terms) AS v;
            END IF;
        END IF;
        p.kept := p.kept || value;
        p.missing := p.missing || absent;
        p.scale := p.scale || 1 / coalesce(nullif(spread, 0), 1);
        p.mean := p.mean || mean;
        p.centre := p.centre || CASE WHEN how = 'standard' AND p.constant IS NOT NULL THEN mean ELSE 0::float8 END;
    END LOOP;
    p.coordinates := jsonb_array_length(p.design -> 'coordinates');
    p.dimension := cardinality(p.kept) + p.size - p.coordinates;
    RETURN p;
END
$$;

COMMENT ON FUNCTION sqlsvm._scaled(sqlsvm._problem, text) IS 'How the features of a problem are scaled: standard, maxabs or none';
