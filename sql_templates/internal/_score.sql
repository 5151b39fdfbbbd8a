-- EXECUTE of what score_sql gives is no faster, for it is planned anew for each row, and it would not check the values.
CREATE OR REPLACE FUNCTION sqlsvm._score(body jsonb, features jsonb)
RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    WITH weights AS MATERIALIZED (SELECT * FROM sqlsvm._stored_weights(body)),
    given AS MATERIALIZED (
        SELECT w.feature, sqlsvm._feature_value(features, w.feature) AS value
        FROM (SELECT feature FROM weights GROUP BY feature ORDER BY min(place)) AS w
    ),
    -- The category that is spelled as the value is, before one that only means the same.
    met AS (
        SELECT DISTINCT ON (w.feature) w.place
        FROM weights AS w JOIN given AS g USING (feature)
        WHERE sqlsvm._is_category(w.feature, g.value, w.category, w.spelling)
        ORDER BY w.feature, w.category = g.value DESC, w.place
    ),
    terms (place, term) AS (
        SELECT 0, (body ->> 'intercept')::double precision
        UNION ALL
        SELECT w.place, CASE
            WHEN w.category IS NULL THEN w.weight::double precision
                * coalesce(sqlsvm._number_of(w.feature, g.value, w.is_boolean), w.missing)::double precision
            WHEN g.value = 'null' AND body ->> 'nulls' = 'drop' THEN NULL
            WHEN w.place IN (SELECT m.place FROM met AS m) THEN w.weight::double precision
            ELSE 0
        END
        FROM weights AS w JOIN given AS g USING (feature)
    )
    -- One after the other, as an expression adds them: the last bits are then the same.
    SELECT CASE WHEN bool_and(term IS NOT NULL) THEN sum(term ORDER BY place) END FROM terms
$$;

COMMENT ON FUNCTION sqlsvm._score(jsonb, jsonb) IS
    'intercept + the sum of weight * value; a category that training has not seen weighs 0';
