CREATE OR REPLACE FUNCTION sqlsvm._local_score(d integer)
RETURNS text
LANGUAGE sql IMMUTABLE
AS $$ SELECT string_agg(format('z%s * $1[%s]', i, i), ' + ' ORDER BY i) FROM generate_series(1, d) AS i $$;

COMMENT ON FUNCTION sqlsvm._local_score(integer) IS 'The margin of a sampled row as an expression over $1';
