-- The scores of one row, one for each class, or its probabilities, by the expressions that are stored with a version
CREATE OR REPLACE FUNCTION sqlsvm._scored(body jsonb, features jsonb, probable boolean)
RETURNS double precision[] LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on SET TimeZone = 'UTC' SET DateStyle = 'ISO, YMD' SET jit = off AS $$
DECLARE
    chances CONSTANT text[] := CASE WHEN probable THEN sqlsvm._texts(body, 'chances') END;
    scores text;
    names text[];
    found double precision[];
BEGIN
    SELECT string_agg(s.said || ' AS sqlsvm_s' || s.n, ', ' ORDER BY s.n), array_agg('sqlsvm_s' || s.n ORDER BY s.n) INTO scores, names
    FROM unnest(sqlsvm._texts(body, 'scores')) WITH ORDINALITY AS s (said, n);
    EXECUTE format('SELECT ARRAY[%s]::float8[] FROM (SELECT %s%s FROM (%s) AS r OFFSET 0) AS s',
        array_to_string(coalesce(chances, names), ', '),
        CASE WHEN probable THEN 'r.*, ' END, scores, sqlsvm._row(body, features)) INTO found;
    RETURN found;
END $$;
