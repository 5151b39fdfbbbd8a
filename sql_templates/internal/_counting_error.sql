-- How much the value of a pass may be too low
-- E = (1/N) sum of e(z), where e is the most that psi is above its tangent at z, within delta, the sum of the rounding errors; 0 if
-- exact. JoinOracle in run/join_oracle.py has the same formulas. The hinge is a single change, at 0 of the total,
-- which is the middle of a bucket, or where one ends.
CREATE OR REPLACE FUNCTION sqlsvm._counting_error(p sqlsvm._problem, answers jsonb, lines jsonb, h float8)
RETURNS float8 LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    near CONSTANT text := p.design ->> 'near';
    sharp CONSTANT jsonb := CASE WHEN lines IS NULL THEN '[{"at": 0, "jump": 1, "bend": 0}]' ELSE lines -> 'sharp' END;
    delta float8;
    curved float8;
    jumped float8;
    bent float8;
BEGIN
    IF (p.design ->> 'one_bag')::boolean OR p.design ->> 'method' = 'exact' THEN
        RETURN 0;
    END IF;
    IF sharp <> '[]' AND NOT answers ? near THEN  -- without this answer the error would seem to be 0
        RAISE EXCEPTION 'the program has no statement "%"', near
            USING ERRCODE = 'SV002', HINT = 'Compile it again: sqlsvm compile.';
    END IF;
    delta := (SELECT coalesce(sum((answers -> ('rounding ' || bag) -> 0 ->> 'error')::float8), 0)
        FROM jsonb_array_elements_text(p.design -> 'scored_bags') AS bag);
    IF delta > (p.design ->> 'reach')::float8 + 1 THEN  -- a score beyond all buckets: `near` has too few rows
        RETURN coalesce((lines ->> 'jumps')::float8, 1) * delta / h + coalesce((lines ->> 'most_bent')::float8, 0) * (delta / h) ^ 2 / 2;
    END IF;
    curved := coalesce((lines ->> 'bend')::float8, 0)
        + coalesce((answers -> 'functions of the join' -> 0 ->> 'bend')::float8, 0) / p.n;
    -- What the jumps add, and what the second derivative adds.
    SELECT coalesce(sum(s.jump * sqlsvm._crossed(b.d, n.c, n.e, n.ee, delta)), 0) / h / p.n,
        curved * (delta / h) ^ 2 / 2 + coalesce(sum(s.bend * n.c * (greatest(0, delta - abs(b.d)) / h) ^ 2), 0) / 2 / p.n
    INTO jumped, bent
    FROM jsonb_to_recordset(coalesce(answers -> near, '[]')) AS n (at float8, z float8, c float8, e float8, ee float8)
    JOIN jsonb_to_recordset(sharp) AS s (at float8, jump float8, bend float8) ON s.at = coalesce(n.at, 0),
        LATERAL (SELECT n.z - s.at * h - (p.design ->> 'middle')::float8 AS d) AS b;
    RETURN jumped + least(bent, (lines ->> 'most_bent')::float8 / 2 / h ^ 2 / p.n
        * (answers -> (p.design ->> 'rests') -> 0 ->> 'ee')::float8);
END $$;
