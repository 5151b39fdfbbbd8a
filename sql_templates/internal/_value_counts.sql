CREATE OR REPLACE FUNCTION sqlsvm._value_counts(p sqlsvm._problem, answers jsonb)
RETURNS TABLE (feature text, value text, count float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dictionary jsonb;
BEGIN
    RETURN QUERY
        SELECT coordinate ->> 'feature', r.value::text, r.c
        FROM jsonb_array_elements(p.design -> 'coordinates') AS coordinate,
            jsonb_to_recordset(answers -> ('values ' || ((coordinate ->> 'place')::integer - 1))) AS r (value float8, c float8)
        WHERE coordinate ->> 'role' = 'value' AND r.c > 0;
    FOR dictionary IN SELECT d FROM jsonb_array_elements(p.design -> 'dictionaries') AS d LOOP
        RETURN QUERY EXECUTE format(
            'SELECT $1, CASE WHEN d.n IS NOT NULL THEN coalesce(d.v::text, ''(other)'') END, r.c FROM jsonb_to_recordset($2) AS r (n integer, c float8)
             LEFT JOIN pg_temp.%I AS d ON d.n = r.n WHERE r.c > 0', dictionary ->> 'table')
            USING dictionary ->> 'feature', answers -> ('categories ' || (dictionary ->> 'number'));
    END LOOP;
END
$$;

COMMENT ON FUNCTION sqlsvm._value_counts(sqlsvm._problem, jsonb) IS 'Counts by feature and value from the answers of a program';
