-- Centring has moved a part of the intercept into theta: this takes it back.
CREATE OR REPLACE FUNCTION sqlsvm._to_scaled(p sqlsvm._problem, theta float8[])
RETURNS float8[]
LANGUAGE sql IMMUTABLE
AS $$
    SELECT ARRAY(SELECT CASE WHEN k IS NOT DISTINCT FROM p.constant
                THEN theta[k] + (SELECT sum(theta[i] * c) FROM unnest(p.kept, p.centre) AS s (i, c))
                ELSE theta[k] / p.scale[j] END
            FROM unnest(p.kept) WITH ORDINALITY AS s (k, j) ORDER BY j)
        || theta[p.coordinates + 1 :]
$$;

COMMENT ON FUNCTION sqlsvm._to_scaled(sqlsvm._problem, float8[]) IS 'Weights of raw coordinates as weights of the scaled features';
