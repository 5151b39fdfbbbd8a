-- The list of the scores of all join rows, or of their residuals
-- It is exact if it is short enough. Otherwise scores are rounded to a grid with at least `buckets` places over their range, and may be off by delta, both in steps.
CREATE OR REPLACE FUNCTION sqlsvm._list(
    p sqlsvm._problem, asked sqlsvm._given, buckets integer, OUT given sqlsvm._given, OUT delta float8, OUT at_centre jsonb)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    one_bag boolean := (p.design ->> 'one_bag')::boolean;
BEGIN
    given := asked;
    given.bound := 0;
    given.buckets := 1;
    delta := 0;
    IF one_bag OR p.design ->> 'method' = 'exact' THEN
        PERFORM sqlsvm._run('list', given);
        IF one_bag OR (sqlsvm._run('pairs', given) -> 'pairs' -> 0 ->> 'n')::float8 <= 1e7 THEN
            PERFORM sqlsvm._run('list of pairs', given);
            RETURN;
        END IF;
        at_centre := sqlsvm._run('above at centre', given) -> 'rows above' -> 0;
        PERFORM sqlsvm._drop('list');
    END IF;
    -- A power of two, so that multiples of a half or a quarter are not rounded; and not so large that a score exceeds the largest bucket.
    SELECT CASE WHEN size > 0 THEN 2 ^ least(ceil(ln(buckets / coalesce(nullif(width, 0), size)) / ln(2::float8)),
        floor(ln(524287 / size) / ln(2::float8))) ELSE 1 END
    INTO given.buckets
    FROM (SELECT sum(s.largest - s.least) AS width, sum(greatest(abs(s.least), abs(s.largest))) AS size FROM (
        SELECT (a.value -> 0 ->> 'least')::float8 AS least, (a.value -> 0 ->> 'largest')::float8 AS largest
        FROM jsonb_each(sqlsvm._run('spans', given)) AS a) AS s) AS t;
    PERFORM sqlsvm._run('grid list', given);
    SELECT CASE WHEN sum(b.blur) > 0 THEN sum(b.blur) + 1e-9 ELSE 0 END INTO delta
    FROM (SELECT (a.value -> 0 ->> 'error')::float8 AS blur FROM jsonb_each(sqlsvm._run('roundings', given)) AS a) AS b;
END $$;
