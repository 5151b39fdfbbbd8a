-- How far a cut may be off because sums are rounded. run/rounding.py has the same formulas.
CREATE OR REPLACE FUNCTION sqlsvm._rounding(p sqlsvm._problem)
RETURNS sqlsvm._rounding
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    answers CONSTANT jsonb := sqlsvm._run('relations', sqlsvm._arguments(p)) || sqlsvm._run('groups', sqlsvm._arguments(p));
    rounded CONSTANT boolean := p.design ->> 'weight' IS NOT NULL OR p.weight_negative <> 1 OR p.weight_positive <> 1
        OR p.n >= 2::float8 ^ 53;
    one_bag CONSTANT boolean := p.design ->> 'one_bag';
    others CONSTANT float8 := 64 * jsonb_array_length(p.design -> 'sums') + 2 * p.size;
    found sqlsvm._rounding;
    adding float8;
BEGIN
    found.share := sqlsvm._share_of(((CASE WHEN one_bag THEN 1 ELSE 2 END) + CASE WHEN rounded THEN 2 ELSE 0 END)
        * (sqlsvm._longest_sum(p, p.design -> 'sums', answers, rounded) + others));
    -- Where messages add up slopes, and do not count rows.
    adding := sqlsvm._share_of((CASE WHEN one_bag THEN 3 ELSE 4 END)
        * (sqlsvm._longest_sum(p, p.design -> 'sums', answers, true) + others));
    found.sums := adding / found.share;
    found.lists := CASE WHEN (p.design ->> 'bags')::integer > 2 THEN adding
        ELSE sqlsvm._share_of(8 * sqlsvm._longest_sum(p, p.design -> 'met', answers, true) + 64) END / found.share;
    found.features := jsonb_array_length(p.design -> 'dictionaries');
    WITH means AS (
        SELECT c.i, CASE WHEN p.squares[c.i] IS NULL THEN coalesce(p.largest[c.i], 0)
            ELSE greatest(sqrt(p.squares[c.i] / p.n), abs(p.total[c.i]) / p.n) END AS m
        FROM generate_series(1, p.coordinates) AS c (i)
    ), scaled AS (
        SELECT s.j, s.scale * (v.m + tied.m + abs(s.mean) * coalesce(absent.m, 0) + abs(s.centre)) AS m
        FROM unnest(p.kept, p.missing, p.scale, p.mean, p.centre) WITH ORDINALITY AS s (kept, missing, scale, mean, centre, j)
        JOIN means AS v ON v.i = s.kept LEFT JOIN means AS absent ON absent.i = s.missing
        CROSS JOIN LATERAL (SELECT coalesce(sum(t.m), 0) AS m FROM means AS t
            WHERE p.design ? 'ties' AND t.i = ANY (sqlsvm._ties(p.design, s.kept))) AS tied
    )
    SELECT coalesce(array_agg(s.m ORDER BY s.j), '{}') INTO found.sizes FROM scaled AS s;
    RETURN found;
END
$$;

COMMENT ON FUNCTION sqlsvm._rounding(sqlsvm._problem) IS 'How far cuts may be off because sums are rounded';
