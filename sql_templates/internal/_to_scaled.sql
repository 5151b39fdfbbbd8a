-- Weights of raw coordinates as weights of the scaled features
-- Centring has moved a part of the intercept into theta: this takes it back.
CREATE OR REPLACE FUNCTION sqlsvm._to_scaled(p sqlsvm._problem, theta float8[])
RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT theta[f.terms[1]] / f.scale + CASE WHEN f.name = '' THEN
                (SELECT sum(theta[e.terms[1]] * e.centre) FROM unnest(p.features) AS e) ELSE 0 END
            FROM unnest(p.features) AS f ORDER BY f.place)
        || theta[p.coordinates + 1 :]
$$;
