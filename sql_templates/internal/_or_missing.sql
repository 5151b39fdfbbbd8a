CREATE OR REPLACE FUNCTION sqlsvm._or_missing(value text, missing text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT format(CASE WHEN missing IS NULL THEN '%s' ELSE 'coalesce(%s, CAST(%L AS double precision))' END, value, missing) $$;

COMMENT ON FUNCTION sqlsvm._or_missing(text, text) IS 'A value as an expression, with the number that replaces a NULL';
