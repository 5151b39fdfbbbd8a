CREATE OR REPLACE FUNCTION sqlsvm._label_value(body jsonb, sign integer)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT CASE jsonb_typeof(l.value)
        WHEN 'number' THEN trim_scale((l.value #>> '{}')::numeric)::text
        ELSE l.value #>> '{}'
    END
    FROM (SELECT coalesce(body #> '{trained_on,label_values}', '[-1, 1]') -> ((sign + 1) / 2) AS value) AS l
$$;

COMMENT ON FUNCTION sqlsvm._label_value(jsonb, integer) IS 'The label''s own value for the class -1 or 1, as text';
