-- The score as an expression over the values of a JSON object; over columns if that is NULL; an unknown category weighs 0, or what all others weigh
-- Everything that comes from the model or from a row is quoted, so it cannot become a part of the expression. Numbers are the stored
-- texts, which are exact doubles. A value is compared in the type of its categories. If a model does not say which features are padded, all
-- of them may be. In JSON a real has only the digits that distinguish it from other reals, but the category is a double; beyond the range of
-- reals the cast would be an error.
CREATE OR REPLACE FUNCTION sqlsvm._score_sql(body jsonb, features jsonb)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    facts CONSTANT jsonb := body -> 'trained_on';
    found text;
BEGIN
    PERFORM sqlsvm._refuse_classes(body);
    WITH weights AS MATERIALIZED (
        SELECT w.place, w.entry ->> 'feature' AS feature, nullif(w.entry -> 'category', 'null') AS category,
            jsonb_typeof(w.entry -> 'category') AS kind, w.entry ->> 'weight' AS weight, w.entry ->> 'missing' AS missing,
            nullif(CASE WHEN body -> 'base' <> 'null' THEN body #>> ARRAY['scaling', w.entry ->> 'feature', 'origin'] END::numeric, 0)::text AS origin,
            w.place = min(w.place) OVER (PARTITION BY w.entry ->> 'feature') AS is_first
        FROM jsonb_array_elements(body -> 'weights') WITH ORDINALITY AS w (entry, place)
    ), given AS MATERIALIZED (
        SELECT w.*, CASE WHEN w.map IS NULL THEN sqlsvm._feature_value(features, w.feature, body) END AS value,
            coalesce(facts -> 'caseless' ? w.feature, false) AS caseless
        FROM (SELECT w.*, m.map, m.operand AS made, m.source FROM weights AS w LEFT JOIN sqlsvm._map_sql(body, features) AS m USING (feature)
            WHERE w.is_first ORDER BY w.place) AS w
    ), read AS MATERIALIZED (
        SELECT g.*, CASE WHEN g.map IS NOT NULL THEN g.made
            WHEN g.category IS NULL THEN sqlsvm._input_sql(body, g.feature, g.value, coalesce(facts -> 'booleans' ? g.feature, false))
            WHEN g.value IS NULL THEN format('%I', g.feature)
            WHEN g.kind <> 'string' THEN format('CAST(%L AS numeric)', sqlsvm._number_of(g.feature, g.value, g.kind = 'boolean'))
            WHEN g.caseless THEN format('CAST(%L AS text)', lower(g.value #>> '{}'))
            ELSE format('CAST(%L AS %s)', g.value #>> '{}', CASE WHEN coalesce(facts -> 'padded' ? g.feature, true) THEN 'bpchar' ELSE 'text' END)
            END AS operand
        FROM given AS g
    ), categories AS (  -- the one that is spelled as the value is comes before one that only means the same
        SELECT r.place, r.operand, max(w.weight) FILTER (WHERE w.kind = 'object') AS others,
            string_agg(format('WHEN %L THEN CAST(%L AS double precision)', s.said, w.weight), ' '
                ORDER BY w.category = r.value DESC, w.place) FILTER (WHERE w.kind <> 'object') AS branches
        FROM read AS r JOIN weights AS w USING (feature), LATERAL (
            SELECT CASE WHEN r.value IS NULL THEN w.category #>> '{}' WHEN w.kind = 'boolean' THEN (w.category = 'true')::integer::text
                WHEN w.kind = 'string' AND r.caseless THEN lower(w.category #>> '{}') ELSE w.category #>> '{}' END
            UNION ALL
            SELECT w.category::float4::text::numeric::text WHERE CASE WHEN r.value IS NOT NULL AND w.kind = 'number'
                THEN CASE WHEN abs(w.category::numeric) BETWEEN 1e-37 AND 1e38 THEN w.category::float4::float8 = w.category::float8 END END) AS s (said)
        WHERE r.category IS NOT NULL GROUP BY r.place, r.operand
    ), terms (place, term) AS (
        SELECT 0, format('CAST(%L AS double precision)', CASE WHEN coalesce((body ->> 'threshold')::float8, 0) = 0
            THEN coalesce(body ->> 'base', body ->> 'intercept')
            ELSE (coalesce(body ->> 'base', body ->> 'intercept')::float8 - (body ->> 'threshold')::float8)::text END)
        UNION ALL  -- what a map computes in steps is one sub-query, so that each step is computed once
        SELECT min(r.place), format(CASE WHEN r.source IS NULL THEN '%s' ELSE '(SELECT %s FROM %s)' END, string_agg(format(
            'CAST(%L AS double precision) * ' || CASE WHEN r.origin IS NULL THEN '%s' ELSE '(%s - CAST(%L AS double precision))' END, r.weight,
            CASE WHEN r.missing IS NULL THEN r.operand ELSE format('coalesce(%s, CAST(%L AS double precision))', r.operand, r.missing) END,
            r.origin), ' + ' ORDER BY r.place), r.source)
        FROM read AS r WHERE r.category IS NULL GROUP BY coalesce(r.map, -r.place), r.source
        UNION ALL  -- without a weight of all others, the last ELSE says what a NULL weighs too
        SELECT c.place, format(CASE WHEN body ->> 'nulls' = 'drop' THEN 'CASE WHEN %1$s IS NOT NULL THEN CASE %1$s %2$s ELSE CAST(%3$L AS double precision) END END'
            WHEN c.others IS NULL THEN 'CASE %1$s %2$s ELSE CAST(%3$L AS double precision) END'
            ELSE 'CASE WHEN %1$s IS NOT NULL THEN CASE %1$s %2$s ELSE CAST(%3$L AS double precision) END ELSE CAST(''0'' AS double precision) END' END,
            c.operand, c.branches, coalesce(c.others, '0'))
        FROM categories AS c
    )
    SELECT string_agg(t.term, ' + ' ORDER BY t.place) INTO found FROM terms AS t;
    RETURN found || CASE WHEN body -> 'base' <> 'null' THEN format(' + CAST(%L AS double precision)', body ->> 'label_centre') ELSE '' END;
END
$$;
