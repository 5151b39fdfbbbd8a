-- The features of a problem by place; the intercept has an empty name
CREATE OR REPLACE FUNCTION sqlsvm._features(p sqlsvm._problem)
RETURNS TABLE (place integer, raw integer, feature text, category text)
LANGUAGE sql STABLE AS $$
    SELECT f.place, f.terms[1], f.name, NULL FROM unnest(p.features) AS f
    UNION ALL
    SELECT c.n + cardinality(p.features) - p.coordinates, c.n, d ->> 'feature', coalesce(c.v, '(other)')
    FROM jsonb_array_elements(p.design -> 'dictionaries') AS d, LATERAL sqlsvm._categories(d) AS c
$$;
