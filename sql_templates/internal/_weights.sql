-- The weights of a model for the original columns
-- For the user's columns: the weight of each raw coordinate, and the value that replaces its NULLs.
CREATE OR REPLACE FUNCTION sqlsvm._weights(p sqlsvm._problem, beta float8[])
RETURNS jsonb LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    theta float8[] := sqlsvm._to_raw(p, beta);
    numbers jsonb;
    scaling jsonb;
    categories jsonb;
BEGIN
    SELECT coalesce(jsonb_agg(jsonb_build_object('feature', f.name, 'category', NULL, 'weight', theta[f.terms[1]], 'scaled_weight', beta[f.place],
            'missing', CASE WHEN p.nulls = 'mean' AND f.missing IS NOT NULL THEN f.mean + f.origin END) ORDER BY f.place), '[]'),
        coalesce(jsonb_object_agg(f.name, jsonb_build_object('centre', f.centre + f.origin, 'width', 1 / f.scale, 'origin', f.origin)), '{}')
    INTO numbers, scaling FROM unnest(p.features) AS f WHERE f.name <> '';
    WITH t AS MATERIALIZED (SELECT d, sqlsvm._category_type(d) AS type FROM jsonb_array_elements(p.design -> 'dictionaries') AS d)
    SELECT coalesce(jsonb_agg(jsonb_build_object('feature', t.d ->> 'feature', 'category', CASE
                WHEN c.v IS NULL THEN '{"other": true}'
                WHEN t.type IN ('float4', 'float8') THEN to_jsonb(CASE t.type WHEN 'float4' THEN c.v::float4::float8 ELSE c.v::float8 END)
                WHEN t.type IN ('int2', 'int4', 'int8', 'numeric') THEN to_jsonb(c.v::numeric)
                WHEN t.type = 'bool' THEN to_jsonb(c.v::boolean)
                ELSE to_jsonb(c.v) END,
            'weight', theta[c.n], 'scaled_weight', theta[c.n], 'missing', NULL) ORDER BY c.n), '[]')
    INTO categories
    FROM t, sqlsvm._categories(t.d) AS c;
    RETURN jsonb_build_object('intercept', coalesce(theta[p.constant] - sqlsvm._at_origins(p, theta), 0) + (p.design ->> 'label_centre')::float8, 'weights', numbers || categories,
        'base', CASE WHEN sqlsvm._is_far(p) THEN theta[p.constant] END,
        'scaled_intercept', coalesce(beta[p.constant], 0), 'scaling', scaling,
        'features', (SELECT count(DISTINCT w ->> 'feature') FROM jsonb_array_elements(numbers || categories) AS w));
END $$;
