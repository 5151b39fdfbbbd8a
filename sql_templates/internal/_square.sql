CREATE OR REPLACE FUNCTION sqlsvm._square(p sqlsvm._problem, theta float8[])
RETURNS float8
LANGUAGE sql IMMUTABLE
AS $$
    SELECT coalesce((SELECT sum((CASE WHEN k IS NOT DISTINCT FROM p.constant
                THEN theta[k] + (SELECT sum(theta[i] * c) FROM unnest(p.kept, p.centre) AS s (i, c))
                ELSE theta[k] / p.scale[j] END) ^ 2)
            FROM unnest(p.kept) WITH ORDINALITY AS s (k, j)), 0)
        + coalesce((SELECT sum(t * t) FROM unnest(theta[p.coordinates + 1 :]) AS t), 0)
$$;

COMMENT ON FUNCTION sqlsvm._square(sqlsvm._problem, float8[]) IS '|beta|^2 of the scaled features with the same scores as theta';
