-- The score as one plain expression over columns named as the features are, to score many rows in one scan
CREATE OR REPLACE FUNCTION sqlsvm.score_sql(model text, version integer DEFAULT NULL)
RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT jsonb := sqlsvm._body(model, version);
BEGIN
    PERFORM sqlsvm._check_body(model, (body ->> 'version')::integer, body, true), sqlsvm._refuse_classes(body);
    RETURN (sqlsvm._texts(body, 'scores'))[1];
END $$;
