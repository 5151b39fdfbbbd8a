-- The score as one plain expression over columns named as the features are, to score many rows in one scan
CREATE OR REPLACE FUNCTION sqlsvm.score_sql(model text, version integer DEFAULT NULL)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT sqlsvm._score_sql(sqlsvm._check_body(score_sql.model, (b.body ->> 'version')::integer, b.body), NULL)
    FROM (SELECT sqlsvm._body(score_sql.model, score_sql.version) OFFSET 0) AS b (body)
$$;
