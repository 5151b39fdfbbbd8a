CREATE OR REPLACE FUNCTION sqlsvm._nearest(name text, known text[])
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT k.word
    FROM (SELECT word, sqlsvm._letter_pairs(word) AS pairs FROM unnest(known) AS word) AS k
    CROSS JOIN LATERAL (
        SELECT 2.0 * count(*) / (cardinality(k.pairs) + cardinality(sqlsvm._letter_pairs(name))) AS alike
        FROM unnest(k.pairs) AS pair
        WHERE pair = ANY (sqlsvm._letter_pairs(name))
    ) AS c
    WHERE c.alike >= 0.5
    ORDER BY c.alike DESC, k.word
    LIMIT 1
$$;

COMMENT ON FUNCTION sqlsvm._nearest(text, text[]) IS
    'The known word with the most neighbouring letters in common; NULL if no word is similar';
