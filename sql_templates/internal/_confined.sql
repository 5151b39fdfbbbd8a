-- Where an intercept without a penalty may be
-- An intercept without a penalty is in this interval wherever F is at most `upper`: psi is convex, so the mean loss of a side is at
-- least psi of its mean residual, and the length of the other weights is at most sqrt(upper / lambda). `Free.within` is the same.
CREATE OR REPLACE FUNCTION sqlsvm._confined(p sqlsvm._problem, given sqlsvm._penalty, upper float8)
RETURNS sqlsvm._penalty LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    penalty sqlsvm._penalty := given;
    pieces CONSTANT jsonb := p.design -> 'loss' -> 'pieces';
    place CONSTANT integer := given.intercept;
    least_ float8 := -1e100;
    most float8 := 1e100;
    side record;
    far float8;
    z float8;
BEGIN
    IF place IS NULL THEN
        RETURN penalty;
    END IF;
    FOR side IN SELECT * FROM sqlsvm._sides(p) LOOP
        far := sqrt(upper / penalty.lambda) * sqrt((SELECT sum(e.m * e.m) FROM unnest(side.means) WITH ORDINALITY AS e (m, j) WHERE e.j <> place AND abs(e.m) > 1e-150));
        FOREACH z IN ARRAY ARRAY[-p.unit, p.unit] LOOP  -- beyond z psi is too high
            WHILE sqlsvm._psi(pieces, z) <= upper / side.share AND abs(z) < 1e90 LOOP
                z := 2 * z;
            END LOOP;
            CONTINUE WHEN abs(z) >= 1e90;
            IF side.way * z > 0 THEN
                least_ := greatest(least_, side.way * (side.origin - z) - coalesce(far, 0));
            ELSE
                most := least(most, side.way * (side.origin - z) + coalesce(far, 0));
            END IF;
        END LOOP;
    END LOOP;
    penalty.low[place] := least_ - 1e-9 * abs(least_);
    penalty.high[place] := most + 1e-9 * abs(most);
    RETURN penalty;
END $$;
