-- Everything that comes from the model or from a row is quoted, so it cannot become a part of the expression.
CREATE OR REPLACE FUNCTION sqlsvm._score_sql(body jsonb, features jsonb)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sqlsvm._refuse_classes(body);
    RETURN (
        WITH weights AS MATERIALIZED (SELECT * FROM sqlsvm._stored_weights(body)),
        given AS MATERIALIZED (
            SELECT w.*, CASE WHEN w.map IS NULL THEN sqlsvm._feature_value(features, w.feature, body) END AS value
            FROM (SELECT w.*, m.map, m.operand, m.source
                FROM weights AS w LEFT JOIN sqlsvm._map_sql(body, features) AS m USING (feature)
                WHERE w.is_first ORDER BY w.place) AS w
        ),
        terms (place, term) AS (
            SELECT 0, format('CAST(%L AS double precision)', body ->> 'intercept')
            UNION ALL
            SELECT g.place, format('CAST(%L AS double precision) * %s', g.weight,
                sqlsvm._input_sql(body, g.feature, g.value, g.missing, g.is_boolean))
            FROM given AS g WHERE g.category IS NULL AND g.map IS NULL
            UNION ALL
            -- What a map computes in steps is one sub-query, so that each step is computed once.
            SELECT min(g.place), format(CASE WHEN g.source IS NULL THEN '%s' ELSE '(SELECT %s FROM %s)' END,
                string_agg(format('CAST(%L AS double precision) * %s', g.weight, sqlsvm._or_missing(g.operand, g.missing)),
                           ' + ' ORDER BY g.place), g.source)
            FROM given AS g WHERE g.map IS NOT NULL
            GROUP BY g.map, g.source
            UNION ALL
            -- The category that is spelled as the value is comes before one that only means the same.
            SELECT g.place, sqlsvm._category_sql(sqlsvm._operand_sql(g.feature, g.value, g.category, g.spelling),
                string_agg(format('WHEN %L THEN CAST(%L AS double precision)', s.said, w.weight), ' '
                           ORDER BY w.category = g.value DESC, w.place) FILTER (WHERE jsonb_typeof(w.category) <> 'object'),
                max(w.weight) FILTER (WHERE jsonb_typeof(w.category) = 'object'),
                body ->> 'nulls' = 'drop')
            FROM given AS g JOIN weights AS w USING (feature)
            CROSS JOIN LATERAL unnest(sqlsvm._spellings(w.category, w.spelling, g.value)) AS s (said)
            WHERE g.category IS NOT NULL
            GROUP BY g.place, g.feature, g.value, g.category, g.spelling
        )
        SELECT string_agg(term, ' + ' ORDER BY place) FROM terms
    );
END
$$;

COMMENT ON FUNCTION sqlsvm._score_sql(jsonb, jsonb) IS
    'The score as an expression over the values of a JSON object; over columns if that is NULL; an unknown category weighs 0, or what all others weigh';
