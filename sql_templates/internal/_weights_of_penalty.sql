-- Neither l1 nor, if it is free, lambda applies to the intercept. Both are for a label in its deviations: `Penalising` is the same.
CREATE OR REPLACE FUNCTION sqlsvm._weights_of_penalty(p sqlsvm._problem, wanted jsonb)
RETURNS sqlsvm._penalty
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ROW((wanted ->> 'lam')::float8 * coalesce(label.unit / label.width ^ 2, 1),
        ARRAY(SELECT CASE WHEN j = constant.place THEN 0 ELSE coalesce((wanted ->> 'l1')::float8, 0) * coalesce(label.unit / label.width, 1) END
            FROM generate_series(1, p.dimension) AS j ORDER BY j),
        array_fill(NULL::float8, ARRAY[p.dimension]), array_fill(NULL::float8, ARRAY[p.dimension]),
        CASE WHEN wanted -> 'problem' ->> 'intercept' = 'free' THEN constant.place END)::sqlsvm._penalty
    FROM (SELECT array_position(p.kept, p.constant) AS place) AS constant,
        (SELECT w.width, w.width * CASE WHEN w.bent > 0 THEN least(w.width, w.bent) ELSE 1 END AS unit
            FROM (SELECT sqlsvm._label_width(p, wanted -> 'problem' ->> 'scale') AS width, (p.design -> 'loss' ->> 'bent')::float8 AS bent) AS w) AS label
$$;

COMMENT ON FUNCTION sqlsvm._weights_of_penalty(sqlsvm._problem, jsonb) IS 'The penalty of a training, without its constraints';
