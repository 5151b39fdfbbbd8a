-- The weights of the newest version of a model, by name
-- Categories of an older model may have the blanks that pad a character(n). They are also returned without them.
CREATE OR REPLACE FUNCTION sqlsvm._newest_weights(model text)
RETURNS jsonb LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body jsonb;
BEGIN
    IF NOT EXISTS (SELECT FROM sqlsvm.versions AS v WHERE v.name = model) THEN
        RAISE EXCEPTION 'the program "%" has trained no model yet', model USING ERRCODE = 'SV001',
            HINT = format('SELECT * FROM sqlsvm.train(%L) trains one; or give weights of your own as beta.', model);
    END IF;
    body := sqlsvm._body(model, NULL);
    PERFORM sqlsvm._check_body(model, (body ->> 'version')::integer, body, true);
    PERFORM sqlsvm._refuse_classes(body);
    RETURN jsonb_build_object('intercept', CASE WHEN body -> 'base' <> 'null'
            THEN to_jsonb((body ->> 'base')::float8 + (body ->> 'label_centre')::float8 - coalesce((body ->> 'threshold')::float8, 0))
            WHEN coalesce((body ->> 'threshold')::float8, 0) = 0 THEN body -> 'intercept'
            ELSE to_jsonb((body ->> 'intercept')::float8 - (body ->> 'threshold')::float8) END,
        'origins', (SELECT jsonb_object_agg(s.key, s.value -> 'origin') FROM jsonb_each(body -> 'scaling') AS s WHERE body -> 'base' <> 'null'),
        'weights', (SELECT coalesce(jsonb_object_agg(f.feature, f.weight), '{}') FROM (
            SELECT w ->> 'feature' AS feature, w -> 'weight' AS weight
            FROM jsonb_array_elements(body -> 'weights') AS w WHERE w -> 'category' = 'null'
            UNION ALL
            SELECT w ->> 'feature', jsonb_object_agg(CASE WHEN body #> '{trained_on,padded}' IS NULL
                    THEN rtrim(w ->> 'category', ' ') ELSE w ->> 'category' END, w -> 'weight')
                || jsonb_object_agg(w ->> 'category', w -> 'weight')
            FROM jsonb_array_elements(body -> 'weights') AS w WHERE jsonb_typeof(w -> 'category') NOT IN ('null', 'object')
            GROUP BY 1) AS f),
        'other', (SELECT coalesce(jsonb_object_agg(w ->> 'feature', w -> 'weight'), '{}')
            FROM jsonb_array_elements(body -> 'weights') AS w WHERE jsonb_typeof(w -> 'category') = 'object'),
        'missing', (SELECT coalesce(jsonb_object_agg(w ->> 'feature', w -> 'missing'), '{}')
            FROM jsonb_array_elements(body -> 'weights') AS w WHERE w -> 'missing' <> 'null'));
END $$;
