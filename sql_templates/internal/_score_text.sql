-- The score of a model that a program has trained, as sqlsvm/model/score.py writes it
-- The program has the value of each feature as an expression over columns, and of a map with steps what computes these. Here
-- come the weights.
CREATE OR REPLACE FUNCTION sqlsvm._score_text(body jsonb, features jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH weights AS MATERIALIZED (
        SELECT w.n, w.entry, w.entry ->> 'feature' AS feature, f.entry ->> 'value' AS value, (f.entry ->> 'map')::integer AS map, f.entry ->> 'steps' AS steps,
            w.entry -> 'category' AS category, format('CAST(%s AS DOUBLE PRECISION)', w.entry ->> 'weight') AS weight, w.entry ->> 'missing' AS missing,
            nullif(CASE WHEN body -> 'base' <> 'null' THEN body #>> ARRAY['scaling', w.entry ->> 'feature', 'origin'] END::numeric, 0) AS origin
        FROM jsonb_array_elements(body -> 'weights') WITH ORDINALITY AS w (entry, n)
        CROSS JOIN LATERAL (SELECT features -> (w.entry ->> 'feature')) AS f (entry)
    ), numbers AS (
        SELECT w.n, w.map, w.steps, w.weight || ' * ' || format(CASE WHEN w.origin IS NULL THEN '%s' ELSE '(%s - CAST(%s AS DOUBLE PRECISION))' END,
            CASE WHEN w.missing IS NULL THEN w.value ELSE format('COALESCE(%s, CAST(%s AS DOUBLE PRECISION))', w.value, w.missing) END, w.origin) AS term
        FROM weights AS w WHERE w.category = 'null'
    ), cases AS (
        SELECT c.*, count(c.branches) OVER (ORDER BY c.n) AS place FROM (
            SELECT min(w.n) AS n, w.value, coalesce(max(w.weight) FILTER (WHERE jsonb_typeof(w.category) = 'object'), 'CAST(0 AS DOUBLE PRECISION)') AS rest,
                bool_or(jsonb_typeof(w.category) = 'object') AS others, jsonb_agg(jsonb_build_array(CASE WHEN w.value LIKE 'LOWER(%'
                    THEN to_jsonb(lower(w.category #>> '{}')) ELSE w.category END, w.entry -> 'weight') ORDER BY w.n)
                    FILTER (WHERE jsonb_typeof(w.category) <> 'object') AS branches
            FROM weights AS w WHERE w.category <> 'null' GROUP BY w.feature, w.value) AS c
    ), terms (map, n, term) AS (
        SELECT -1, 0, format('CAST(%s AS DOUBLE PRECISION)',
            coalesce(nullif(body -> 'base', 'null'), body -> 'intercept')::text::float8 - (body ->> 'threshold')::float8)
        UNION ALL
        SELECT coalesce(w.map, 0), min(w.n), CASE WHEN w.steps IS NULL THEN string_agg(w.term, ' + ' ORDER BY w.n)
            ELSE format('(SELECT %s AS score %s)', string_agg(w.term, ' + ' ORDER BY w.n), w.steps) END
        FROM numbers AS w GROUP BY w.map, w.steps, CASE WHEN w.map IS NULL THEN w.n END
        UNION ALL
        SELECT 0, c.n, format(CASE WHEN body ->> 'nulls' = 'drop' OR c.others THEN 'CASE WHEN NOT %1$s IS NULL THEN %2$s %3$s END' ELSE '%2$s' END,
            c.value, CASE WHEN c.branches IS NULL THEN c.rest ELSE format('CASE %s WHEN CASES THEN %s ELSE %s END', c.value, c.place, c.rest) END,
            CASE WHEN c.others AND body ->> 'nulls' <> 'drop' THEN 'ELSE CAST(0 AS DOUBLE PRECISION)' END)
        FROM cases AS c
        UNION ALL
        SELECT 1e9, 0, format('CAST(%s AS DOUBLE PRECISION)', body -> 'label_centre') WHERE body -> 'base' <> 'null'
    )
    SELECT jsonb_build_object('scores', jsonb_build_array(string_agg(t.term, ' + ' ORDER BY t.map, t.n)),
        'cases', (SELECT coalesce(jsonb_agg(c.branches ORDER BY c.place) FILTER (WHERE c.branches IS NOT NULL), '[]') FROM cases AS c))
    FROM terms AS t
$$;
