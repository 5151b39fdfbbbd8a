-- The penalty of a training, without its constraints
-- Neither l1 nor, if it is free, lambda applies to the intercept. Both are for a label in its deviations: `Penalising` is the same.
-- The trace that a free intercept gets is small next to lambda; with a label that is a number, next to the loss of such labels.
CREATE OR REPLACE FUNCTION sqlsvm._weights_of_penalty(p sqlsvm._problem, wanted jsonb)
RETURNS sqlsvm._penalty LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ROW(label.lambda,
        ARRAY(SELECT CASE WHEN j = p.constant THEN 0 ELSE coalesce((wanted ->> 'l1')::float8, 0) * coalesce(label.unit / label.width, 1) END
            FROM generate_series(1, p.dimension) AS j ORDER BY j),
        array_fill(NULL::float8, ARRAY[p.dimension]), array_fill(NULL::float8, ARRAY[p.dimension]),
        CASE WHEN wanted -> 'problem' ->> 'intercept' = 'free' THEN p.constant END,
        coalesce(CASE WHEN p.n_negative IS NULL THEN 1e-3 * sqlsvm._psi(p.design -> 'loss' -> 'pieces', p.origin) / nullif(p.origin, 0) ^ 2 END,
            1e-6 * label.lambda))::sqlsvm._penalty
    FROM (SELECT u.width, u.unit, (wanted ->> 'lam')::float8 * coalesce(u.unit / u.width ^ 2, 1) AS lambda
            FROM (SELECT w.width, w.width * CASE WHEN w.bent > 0 THEN least(w.width, w.bent) ELSE 1 END AS unit
                FROM (SELECT sqlsvm._label_width(p, wanted -> 'problem' ->> 'scale') AS width, (p.design -> 'loss' ->> 'bent')::float8 AS bent) AS w) AS u
            OFFSET 0) AS label  -- once, and not for each coordinate
$$;
