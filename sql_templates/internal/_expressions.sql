-- All expressions of a stored score
-- A double has at most 17 digits. A category with more is a numeric, and is compared as it is.
CREATE OR REPLACE FUNCTION sqlsvm._expressions(score text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
    WITH stored AS MATERIALIZED (SELECT score::jsonb AS s), cases AS MATERIALIZED (
        SELECT coalesce(array_agg((
            SELECT CASE WHEN bool_and(b.branch IS NOT NULL) THEN string_agg(b.branch, ' ') END
            FROM jsonb_array_elements(CASE jsonb_typeof(t.list) WHEN 'array' THEN t.list END) AS e (pair), LATERAL (SELECT e.pair ->> 0 AS c) AS c, LATERAL (SELECT 'WHEN ' || CASE jsonb_typeof(e.pair -> 0)
                WHEN 'string' THEN quote_literal(c.c) WHEN 'boolean' THEN c.c WHEN 'number' THEN
                    CASE WHEN c.c LIKE '%.%' AND length(c.c) < 25 THEN 'CAST(' || c.c || ' AS DOUBLE PRECISION)' ELSE c.c END END
                || ' THEN CAST(' || CASE jsonb_typeof(e.pair -> 1) WHEN 'number' THEN e.pair ->> 1 END || ' AS DOUBLE PRECISION)') AS b (branch)) ORDER BY t.n), '{}') AS cases
        FROM stored, jsonb_path_query(s, '$.cases[*]') WITH ORDINALITY AS t (list, n)
    )
    SELECT jsonb_object_agg(k.kind, (SELECT jsonb_agg(sqlsvm._expression(e.e #>> '{}', c.cases) ORDER BY e.n)
        FROM jsonb_path_query(s -> k.kind, '$[*]') WITH ORDINALITY AS e (e, n)))
    FROM stored, cases AS c, (VALUES ('scores'), ('chances')) AS k (kind)
$$;
