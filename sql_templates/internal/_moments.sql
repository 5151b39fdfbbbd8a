-- One row for each place in theta, also for a category that no row of the join has.
CREATE OR REPLACE FUNCTION sqlsvm._moments(design jsonb, answers jsonb)
RETURNS TABLE (place integer, dictionary integer, total float8, squares float8, largest float8, negative float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    categories jsonb;
BEGIN
    RETURN QUERY
        SELECT (c ->> 'place')::integer, NULL::integer, (r ->> ('total' || i))::float8, (r ->> ('squares' || i))::float8,
            (r ->> ('largest' || i))::float8, (r ->> ('negative' || i))::float8
        FROM jsonb_array_elements(design -> 'coordinates') AS c,
            LATERAL (SELECT (c ->> 'place')::integer - 1 AS i, answers -> ('moments ' || (c ->> 'node')) -> 0 AS r) AS m;
    FOR categories IN SELECT d FROM jsonb_array_elements(design -> 'dictionaries') AS d LOOP
        RETURN QUERY EXECUTE format(
            'SELECT d.n::integer, $2, coalesce(m.total, 0), coalesce(m.total, 0), 1::float8, coalesce(m.negative, 0)
             FROM pg_temp.%I AS d LEFT JOIN jsonb_to_recordset($1) AS m (n integer, total float8, negative float8)
             ON m.n = d.n', categories ->> 'table')
            USING answers -> ('category moments ' || (categories ->> 'number')), (categories ->> 'number')::integer;
    END LOOP;
END
$$;

COMMENT ON FUNCTION sqlsvm._moments(jsonb, jsonb) IS 'The moments of every coordinate from the answers of a program';
