CREATE OR REPLACE FUNCTION sqlsvm._local_score(local sqlsvm._local)
RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT string_agg(e.term, ' + ') FROM (
        SELECT format('z%s * $1[%s]', i, i) FROM generate_series(1, local.numbers) AS i UNION ALL
        SELECT format('y * $1[n%s]', k) FROM generate_series(0, local.dictionaries - 1) AS k) AS e (term)
$$;

COMMENT ON FUNCTION sqlsvm._local_score(sqlsvm._local) IS
    'y times the score of a sampled row, as an expression over $1: the weights and a 0';
