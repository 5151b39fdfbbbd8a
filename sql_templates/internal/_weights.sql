-- For the user's columns: the weight of each raw coordinate, and the value that replaces its NULLs.
CREATE OR REPLACE FUNCTION sqlsvm._weights(p sqlsvm._problem, beta float8[])
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    theta float8[] := sqlsvm._to_raw(p, beta);
    numbers jsonb;
    categories jsonb := '[]';
    dictionary jsonb;
    one jsonb;
BEGIN
    SELECT coalesce(jsonb_agg(jsonb_build_object('feature', c ->> 'feature', 'category', NULL,
            'weight', theta[p.kept[j]], 'scaled_weight', beta[j],
            'missing', CASE WHEN p.nulls = 'mean' AND p.missing[j] IS NOT NULL THEN p.mean[j] END) ORDER BY j), '[]')
    INTO numbers
    FROM generate_series(1, cardinality(p.kept)) AS j,
        LATERAL (SELECT p.design -> 'coordinates' -> (p.kept[j] - 1) AS c) AS k WHERE c ->> 'role' = 'value';
    FOR dictionary IN SELECT d FROM jsonb_array_elements(p.design -> 'dictionaries') AS d LOOP
        EXECUTE format(
            'SELECT coalesce(jsonb_agg(jsonb_build_object(''feature'', $1, ''category'',
                CASE WHEN d.v IS NULL THEN ''{"other": true}''
                    WHEN $3 = ''float4'' THEN to_jsonb(d.v::text::float4::float8)
                    WHEN $3 IN (''int2'', ''int4'', ''int8'', ''numeric'', ''float8'', ''bool'') THEN to_jsonb(d.v)
                    ELSE to_jsonb(d.v::text) END,
                ''weight'', $2[d.n], ''scaled_weight'', $2[d.n], ''missing'', NULL) ORDER BY d.n), ''[]'')
             FROM pg_temp.%I AS d', dictionary ->> 'table')
        INTO one USING dictionary ->> 'feature', theta, sqlsvm._category_type(dictionary);
        categories := categories || one;
    END LOOP;
    RETURN jsonb_build_object('intercept', coalesce(theta[p.constant], 0) + (p.design ->> 'label_centre')::float8, 'weights', numbers || categories,
        'scaled_intercept', coalesce(beta[array_position(p.kept, p.constant)], 0),
        'scaling', (SELECT coalesce(jsonb_object_agg(c ->> 'feature',
                jsonb_build_object('centre', p.centre[j], 'width', 1 / p.scale[j])), '{}')
            FROM generate_series(1, cardinality(p.kept)) AS j,
                LATERAL (SELECT p.design -> 'coordinates' -> (p.kept[j] - 1) AS c) AS k WHERE c ->> 'role' = 'value'),
        'features', (SELECT count(DISTINCT w ->> 'feature') FROM jsonb_array_elements(numbers || categories) AS w));
END
$$;

COMMENT ON FUNCTION sqlsvm._weights(sqlsvm._problem, float8[]) IS 'The weights of a model for the original columns';
