CREATE OR REPLACE FUNCTION sqlsvm._letter_pairs(word text)
RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT array_agg(DISTINCT substr(' ' || lower(word) || ' ', place, 2))
    FROM generate_series(1, char_length(word) + 1) AS place
$$;

COMMENT ON FUNCTION sqlsvm._letter_pairs(text) IS
    'The pairs of neighbouring letters of a word, including its ends, to compare words';
