-- How far cuts may be off because sums are rounded: run/rounding.py has the same formulas
CREATE OR REPLACE FUNCTION sqlsvm._rounding(p sqlsvm._problem)
RETURNS sqlsvm._rounding LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rows CONSTANT jsonb := p.rows || (SELECT coalesce(jsonb_object_agg(a.key, a.value -> 0 -> 'n'), '{}')
        FROM jsonb_each(sqlsvm._run('groups', sqlsvm._arguments(p))) AS a);
    rounded CONSTANT boolean := p.design ->> 'weight' IS NOT NULL OR p.weight_negative <> 1 OR p.weight_positive <> 1
        OR p.n >= 2::float8 ^ 53;
    one_bag CONSTANT boolean := p.design ->> 'one_bag';
    others CONSTANT float8 := 64 * jsonb_array_length(p.design -> 'sums') + 2 * p.size;
    found sqlsvm._rounding;
    shares float8[];
BEGIN
    -- Of each kind of sum: by which share of it a number may be off after that many operations.
    SELECT array_agg(CASE WHEN s.steps < 2::float8 ^ 53 THEN s.steps / (2::float8 ^ 53 - s.steps) ELSE 'Infinity' END ORDER BY s.i) INTO shares
    FROM unnest(ARRAY[
        (CASE WHEN one_bag THEN 1 ELSE 2 END + CASE WHEN rounded THEN 2 ELSE 0 END)
            * (sqlsvm._longest_sum(p, p.design -> 'sums', rows, rounded) + others),
        CASE WHEN one_bag THEN 3 ELSE 4 END * (sqlsvm._longest_sum(p, p.design -> 'sums', rows, true) + others),  -- messages add up slopes
        8 * sqlsvm._longest_sum(p, p.design -> 'met', rows, true) + 64]) WITH ORDINALITY AS s (steps, i);
    found.share := shares[1];
    found.sums := shares[2] / shares[1];
    found.lists := shares[CASE WHEN (p.design ->> 'bags')::integer > 2 THEN 2 ELSE 3 END] / shares[1];
    found.features := jsonb_array_length(p.design -> 'dictionaries');
    WITH means AS (
        SELECT c.i, CASE WHEN p.squares[c.i] IS NULL THEN coalesce(p.largest[c.i], 0)
            ELSE greatest(sqrt(p.squares[c.i] / p.n), abs(p.total[c.i]) / p.n) END AS m
        FROM generate_series(1, p.coordinates) AS c (i)
    )
    SELECT ARRAY(SELECT sum(abs(e.factor) * m.m) FROM sqlsvm._parts(p) AS e JOIN means AS m ON m.i = e.raw GROUP BY e.place ORDER BY e.place)
    INTO found.sizes;
    RETURN found;
END $$;
