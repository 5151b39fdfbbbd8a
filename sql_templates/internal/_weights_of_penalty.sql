-- Neither l1 nor, if it is free, lambda applies to the intercept.
CREATE OR REPLACE FUNCTION sqlsvm._weights_of_penalty(p sqlsvm._problem, wanted jsonb)
RETURNS sqlsvm._penalty
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ROW((wanted ->> 'lam')::float8,
        ARRAY(SELECT CASE WHEN j = constant.place THEN 0 ELSE coalesce((wanted ->> 'l1')::float8, 0) END FROM generate_series(1, p.dimension) AS j ORDER BY j),
        array_fill(NULL::float8, ARRAY[p.dimension]), array_fill(NULL::float8, ARRAY[p.dimension]),
        CASE WHEN wanted -> 'problem' ->> 'intercept' = 'free' THEN constant.place END)::sqlsvm._penalty
    FROM (SELECT array_position(p.kept, p.constant) AS place) AS constant
$$;

COMMENT ON FUNCTION sqlsvm._weights_of_penalty(sqlsvm._problem, jsonb) IS 'The penalty of a training, without its constraints';
