-- A value of a label as text; a number without needless zeros
CREATE OR REPLACE FUNCTION sqlsvm._label_text(value jsonb)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE jsonb_typeof(value) WHEN 'number' THEN trim_scale((value #>> '{}')::numeric)::text ELSE value #>> '{}' END
$$;
