-- The values of a JSON object as a SELECT of one row with what a score reads
-- A category becomes the one that is meant: 7.0 is 7, a real has in JSON only the digits that distinguish it from other reals, and a
-- character(n) may have lost its blanks. One that is spelled as the value is comes first. A feature that is left out is NULL where the
-- model has an answer to that. But if a key is no feature of the model, the key may be a misspelling.
CREATE OR REPLACE FUNCTION sqlsvm._row(body jsonb, features jsonb)
RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    facts CONSTANT jsonb := body -> 'trained_on';
    part CONSTANT jsonb := body || coalesce(body #> '{groups,0,classes,0}', body #> '{groups,0}', body #> '{classes,0}', '{}');
    row text;
BEGIN
    FOR row IN  -- an error in a loop over rows does not repeat the whole query
        WITH known AS MATERIALIZED (
            SELECT w.n, w.entry ->> 'feature' AS name, w.entry -> 'category' AS category, false AS booleans,
                w.entry ->> 'missing' IS NOT NULL OR w.entry ->> 'category' IS NOT NULL AND body ->> 'nulls' <> 'drop' AS optional
            FROM jsonb_array_elements(part -> 'weights') WITH ORDINALITY AS w (entry, n)
            WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(body -> 'maps') AS m WHERE m -> 'formulas' ? (w.entry ->> 'feature'))
            UNION ALL
            SELECT 1e9, c, CASE m ->> 'kind' WHEN 'numeric' THEN 'null'::jsonb ELSE '""' END, coalesce(m -> 'booleans' ? c, false),
                body ->> 'nulls' IN ('mean', 'mean+indicator')
            FROM jsonb_array_elements(body -> 'maps') AS m, jsonb_array_elements_text(m -> 'columns') AS c
            UNION ALL
            SELECT 2e9, w ->> 'feature', w -> 'category', false, false
            FROM jsonb_path_query(body, '$.groups[*].weights[*]') AS w WHERE w -> 'category' <> 'null'
            UNION ALL
            SELECT 2e9, w ->> 'feature', w -> 'category', false, false
            FROM jsonb_path_query(body, '$.groups[*].classes[0].weights[*]') AS w WHERE w -> 'category' <> 'null'
            UNION ALL
            SELECT 3e9, body ->> 'by', g -> 'value', false, false FROM jsonb_array_elements(body -> 'groups') AS g
        ), typed AS (
            SELECT k.name, min(k.n) AS n, coalesce(facts -> 'times' ->> k.name,
                CASE (array_agg(jsonb_typeof(k.category) ORDER BY k.n))[1] WHEN 'number' THEN 'numeric' WHEN 'boolean' THEN 'boolean'
                    WHEN 'null' THEN CASE WHEN bool_or(k.booleans) OR coalesce(facts -> 'booleans' ? k.name, false) THEN 'boolean'
                        ELSE 'double precision' END ELSE 'text' END) AS type,
                bool_or(k.optional) AND NOT EXISTS (SELECT FROM jsonb_object_keys(CASE jsonb_typeof(features) WHEN 'object' THEN features END) AS f (name)
                    WHERE lower(f.name) NOT IN (SELECT lower(o.name) FROM known AS o)) AS may_be_left_out
            FROM known AS k GROUP BY k.name ORDER BY n
        ), said AS MATERIALIZED (
            SELECT t.*, sqlsvm._said(t.name, sqlsvm._feature_value(features, t.name, t.may_be_left_out), t.type) AS said,
                t.type = 'numeric' OR t.type = 'text' AND coalesce(facts -> 'padded' ? t.name, true) AS may_differ
            FROM typed AS t
        )
        SELECT 'SELECT ' || coalesce(string_agg(format('CAST(%L AS %s) AS %I', coalesce(m.category, t.said), t.type, t.name), ', ' ORDER BY t.n), '')
        FROM said AS t
        LEFT JOIN LATERAL (
            SELECT s.category FROM (
                SELECT k.category #>> '{}' AS category, CASE t.type
                    WHEN 'text' THEN CASE WHEN k.category #>> '{}' = t.said THEN 2
                        WHEN rtrim(k.category #>> '{}', ' ') = rtrim(t.said, ' ') THEN 1 END
                    WHEN 'numeric' THEN CASE WHEN k.category::numeric = t.said::numeric THEN 2
                        WHEN abs(k.category::numeric) BETWEEN 1e-37 AND 1e38 AND k.category::float4::float8 = k.category::float8
                            AND k.category::float4::text::numeric = t.said::numeric THEN 1 END END AS likeness
                FROM known AS k
                WHERE t.may_differ AND k.name = t.name AND jsonb_typeof(k.category) = CASE t.type WHEN 'text' THEN 'string' ELSE 'number' END) AS s
            WHERE s.likeness > 0 ORDER BY s.likeness DESC LIMIT 1) AS m ON true
    LOOP
        RETURN row;
    END LOOP;
END $$;
