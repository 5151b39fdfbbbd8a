-- The score of the origins that numbers are measured from, or of these less those that are known
-- Numbers that are far from 0 are measured from their means at the time of `compile`: `centred` in run/centring.py.
CREATE OR REPLACE FUNCTION sqlsvm._at_origins(p sqlsvm._problem, theta float8[], known jsonb DEFAULT NULL)
RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum(theta[f.terms[1]] * (f.origin - coalesce((known ->> f.name)::float8, 0))), 0) FROM unnest(p.features) AS f
$$;
