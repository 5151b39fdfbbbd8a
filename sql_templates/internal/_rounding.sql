-- How far a cut may be off because sums are rounded: its offset by rounding[1], its slope along the number j by
-- rounding[1] * rounding[2 + j], and along all categories by rounding[1] * rounding[2].
-- A term of a sum is rounded at most as often as the sums on its way have terms. run/rounding.py has the same formula.
CREATE OR REPLACE FUNCTION sqlsvm._rounding(p sqlsvm._problem)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    answers CONSTANT jsonb := sqlsvm._run('relations', sqlsvm._arguments(p)) || sqlsvm._run('groups', sqlsvm._arguments(p));
    rounded CONSTANT boolean := p.design ->> 'weight' IS NOT NULL OR p.weight_negative <> 1 OR p.weight_positive <> 1
        OR p.n >= 2::float8 ^ 53;
    sums CONSTANT jsonb := p.design -> 'sums';
    longest float8 := 0;
    steps float8;
    terms float8;
    share float8;
    sizes float8[];
    item jsonb;
    alias text;
BEGIN
    FOR item IN SELECT s FROM jsonb_array_elements(sums) AS s LOOP
        CONTINUE WHEN (item ->> 'weighted')::boolean AND NOT rounded;
        terms := 1;
        FOR alias IN SELECT r FROM jsonb_array_elements_text(item -> 'relations') AS r LOOP
            terms := terms * (answers -> alias -> 0 ->> 'n')::float8;
        END LOOP;
        -- Each term of a sum over messages that counts in an answer is a part of other rows of the join.
        longest := longest + least(terms, (item ->> 'most')::float8, CASE
            WHEN (item ->> 'weighted')::boolean AND p.design ->> 'weight' IS NULL
            THEN p.n_negative / p.weight_negative + (p.n - p.n_negative) / p.weight_positive END);
    END LOOP;
    steps := (CASE WHEN (p.design ->> 'one_bag')::boolean THEN 1 ELSE 2 END + CASE WHEN rounded THEN 2 ELSE 0 END)
        * (longest + 64 * jsonb_array_length(sums) + 2 * p.size);
    share := CASE WHEN steps < 2::float8 ^ 53 THEN steps / (2::float8 ^ 53 - steps) ELSE 'Infinity' END;
    WITH means AS (
        SELECT c.i, CASE WHEN p.squares[c.i] IS NULL THEN coalesce(p.largest[c.i], 0)
            ELSE greatest(sqrt(p.squares[c.i] / p.n), abs(p.total[c.i]) / p.n) END AS m
        FROM generate_series(1, p.coordinates) AS c (i)
    ), scaled AS (
        SELECT s.j, s.scale * (v.m + tied.m + abs(s.mean) * coalesce(absent.m, 0) + abs(s.centre)) AS m
        FROM unnest(p.kept, p.missing, p.scale, p.mean, p.centre) WITH ORDINALITY AS s (kept, missing, scale, mean, centre, j)
        JOIN means AS v ON v.i = s.kept LEFT JOIN means AS absent ON absent.i = s.missing
        CROSS JOIN LATERAL (SELECT coalesce(sum(t.m), 0) AS m FROM means AS t
            WHERE t.i = ANY (sqlsvm._ties(p.design, s.kept))) AS tied
    )
    SELECT array_agg(s.m ORDER BY s.j) INTO sizes FROM scaled AS s;
    RETURN ARRAY[share, jsonb_array_length(p.design -> 'dictionaries')] || sizes;
END
$$;

COMMENT ON FUNCTION sqlsvm._rounding(sqlsvm._problem) IS 'How far cuts may be off because sums are rounded';
