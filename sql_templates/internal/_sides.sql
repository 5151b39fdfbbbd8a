-- The mean residual and the means of the coordinates, by class
-- The rows of each class, or all of them where the label is a number: `sides` in run/training.py. `usual` is the root of the mean
-- square of the origins.
CREATE OR REPLACE FUNCTION sqlsvm._sides(p sqlsvm._problem)
RETURNS TABLE (share float8, way float8, origin float8, usual float8, means float8[])
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.n / p.n, s.way, CASE WHEN p.n_negative IS NULL THEN p.label_total / p.n ELSE (p.design -> 'loss' ->> 'origin')::float8 END, p.origin,
        sqlsvm._from_raw(p, ARRAY(SELECT CASE WHEN s.way < 0 THEN t.negative WHEN p.n_negative IS NULL THEN t.total ELSE t.total - t.negative END / s.n
            FROM unnest(p.total, p.negative) WITH ORDINALITY AS t (total, negative, i) ORDER BY t.i))
    FROM (VALUES (-1::float8, p.n_negative), (1, p.n - coalesce(p.n_negative, 0))) AS s (way, n) WHERE s.n > 0
$$;
