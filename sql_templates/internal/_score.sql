-- The score of one row: the value of the expression of _score_sql
CREATE OR REPLACE FUNCTION sqlsvm._score(body jsonb, features jsonb)
RETURNS double precision
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found double precision;
BEGIN
    EXECUTE 'SELECT ' || sqlsvm._score_sql(body, features) INTO found;
    RETURN found;
END
$$;
