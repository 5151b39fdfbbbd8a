-- score = intercept + sum of weight * column: first the intercept, without a feature, then the largest scaled weights
CREATE OR REPLACE FUNCTION sqlsvm.weights(model text, version integer DEFAULT NULL)
RETURNS TABLE (feature text, category text, weight double precision, scaled_weight double precision)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH stored AS MATERIALIZED (
        SELECT sqlsvm._check_body(weights.model, (b.body ->> 'version')::integer, b.body, true) AS body, sqlsvm._refuse_classes(b.body)
        FROM (SELECT sqlsvm._body(weights.model, weights.version) OFFSET 0) AS b (body))
    SELECT w.entry ->> 'feature',
        CASE WHEN jsonb_typeof(w.entry -> 'category') = 'object' THEN '(other)' ELSE w.entry ->> 'category' END, (w.entry ->> 'weight')::double precision,
        (w.entry ->> 'scaled_weight')::double precision AS scaled
    FROM stored AS s CROSS JOIN LATERAL (
        SELECT 0 AS place, jsonb_build_object('weight', s.body -> 'intercept') AS entry
        UNION ALL
        SELECT e.place, e.entry FROM jsonb_array_elements(s.body -> 'weights') WITH ORDINALITY AS e (entry, place)
    ) AS w
    ORDER BY w.place > 0, abs((w.entry ->> 'scaled_weight')::double precision) DESC, w.place
$$;
