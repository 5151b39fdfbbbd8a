-- A power of two, so that multiples of a half or a quarter are not rounded; and not so large that a score exceeds the largest
-- bucket.
CREATE OR REPLACE FUNCTION sqlsvm._steps_per_unit(spans jsonb, buckets integer)
RETURNS float8
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN size > 0 THEN 2 ^ least(
        ceil(ln(buckets / CASE WHEN width > 0 THEN width ELSE size END) / ln(2::float8)),
        floor(ln(524287 / size) / ln(2::float8))) ELSE 1 END
    FROM (
        SELECT sum(s.largest - s.least) AS width, sum(greatest(abs(s.least), abs(s.largest))) AS size FROM (
            SELECT (a.value -> 0 ->> 'least')::float8 AS least, (a.value -> 0 ->> 'largest')::float8 AS largest
            FROM jsonb_each(spans) AS a) AS s) AS t
$$;

COMMENT ON FUNCTION sqlsvm._steps_per_unit(jsonb, integer) IS 'How finely a list of scores counts';
