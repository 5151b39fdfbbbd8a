CREATE OR REPLACE FUNCTION sqlsvm.score_sql(model text, version integer DEFAULT NULL)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH stored AS MATERIALIZED (SELECT sqlsvm._body(model, version) AS body),
    terms (place, term) AS (
        SELECT 0, format('CAST(%L AS double precision)', s.body ->> 'intercept') FROM stored AS s
        UNION ALL
        -- A category has no type here: each column reads it as its own.
        SELECT min(w.place), CASE WHEN every(w.category IS NULL)
            THEN min(format('CAST(%L AS double precision) * %s', w.weight,
                            sqlsvm._value_sql(w.feature, w.missing, w.is_boolean)))
            ELSE sqlsvm._category_sql(w.feature, string_agg(
                format('WHEN %L THEN CAST(%L AS double precision)', w.category #>> '{}', w.weight), ' ' ORDER BY w.place),
                s.body ->> 'nulls' = 'drop')
        END
        FROM stored AS s CROSS JOIN LATERAL sqlsvm._stored_weights(s.body) AS w
        GROUP BY w.feature, s.body ->> 'nulls'
    )
    SELECT string_agg(term, ' + ' ORDER BY place) FROM terms
$$;

COMMENT ON FUNCTION sqlsvm.score_sql(text, integer) IS
    'The score as one plain expression over columns named as the features are, to score many rows in one scan';
