CREATE OR REPLACE FUNCTION sqlsvm._less(value text, origin text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT format(CASE WHEN origin IS NULL THEN '%s' ELSE '(%s - CAST(%L AS double precision))' END, value, origin) $$;

COMMENT ON FUNCTION sqlsvm._less(text, text) IS 'A number as an expression, less the origin that a model has for it';
