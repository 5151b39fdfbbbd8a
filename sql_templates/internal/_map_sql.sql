-- What the maps of a model make, as expressions over the values of a JSON object; over columns if that is NULL
CREATE OR REPLACE FUNCTION sqlsvm._map_sql(body jsonb, features jsonb)
RETURNS TABLE (map bigint, feature text, operand text, source text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    one jsonb;
    step jsonb;
    operands text[];
    present text;
BEGIN
    FOR map, one IN SELECT m.place, m.entry FROM jsonb_array_elements(body -> 'maps') WITH ORDINALITY AS m (entry, place) LOOP
        SELECT array_agg(CASE
                WHEN one ->> 'kind' = 'numeric' THEN sqlsvm._input_sql(body, c.name, v.value, coalesce(one -> 'booleans' ? c.name, false))
                WHEN v.value IS NULL THEN format('CAST(%I AS text)', c.name)
                ELSE format('CAST(%L AS text)', v.value #>> '{}') END ORDER BY c.place)
        INTO operands
        FROM jsonb_array_elements_text(one -> 'columns') WITH ORDINALITY AS c (name, place)
        CROSS JOIN LATERAL (SELECT sqlsvm._feature_value(features, c.name, body)) AS v (value);
        present := array_to_string(operands, ' IS NOT NULL AND ') || ' IS NOT NULL';
        source := NULL;
        FOR step IN SELECT s FROM jsonb_array_elements(one -> 'steps') AS s LOOP
            source := (
                SELECT format('(SELECT %s%s OFFSET 0) AS m',
                    string_agg(sqlsvm._formula_sql(f.formula, operands) || ' AS s' || f.place, ', ' ORDER BY f.place),
                    ' FROM ' || source)
                FROM jsonb_array_elements_text(step) WITH ORDINALITY AS f (formula, place));
            operands := ARRAY(SELECT 'm.s' || n FROM generate_series(1, jsonb_array_length(step)) AS n);
        END LOOP;
        RETURN QUERY
            SELECT map, f.key, format('CASE WHEN %s THEN %s END', present, sqlsvm._formula_sql(f.value, operands)), source
            FROM jsonb_each_text(one -> 'formulas') AS f;
    END LOOP;
END
$$;
