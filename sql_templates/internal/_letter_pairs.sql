CREATE OR REPLACE FUNCTION sqlsvm._letter_pairs(word text)
RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT array_agg(DISTINCT substr(' ' || lower(word) || ' ', place, 2))
    FROM generate_series(1, char_length(word) + 1) AS place
$$;

COMMENT ON FUNCTION sqlsvm._letter_pairs(text) IS
    'The neighbouring letters of a word, its ends included, to tell how much two words have in common';
