-- The known word with the most pairs of neighbouring letters in common, including their ends; NULL if no word is similar
CREATE OR REPLACE FUNCTION sqlsvm._nearest(name text, known text[])
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    WITH pairs AS (
        SELECT DISTINCT word, substr(' ' || lower(word) || ' ', place, 2) AS pair
        FROM unnest(known || name) AS word, generate_series(1, char_length(word) + 1) AS place
    )
    SELECT k.word
    FROM pairs AS k LEFT JOIN (SELECT pair FROM pairs WHERE word = name) AS own USING (pair)
    WHERE k.word = ANY (known)
    GROUP BY k.word
    HAVING 2.0 * count(own.pair) >= 0.5 * (count(*) + (SELECT count(*) FROM pairs WHERE word = name))
    ORDER BY 2.0 * count(own.pair) / (count(*) + (SELECT count(*) FROM pairs WHERE word = name)) DESC, k.word
    LIMIT 1
$$;
