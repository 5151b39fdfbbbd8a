-- Recognises constants by their range, and refuses features whose mean is much larger than their deviation
-- A constant has no variance. A column whose variance is small compared to its mean is not constant, but its sums have lost
-- the digits in which the rows differ. Only the range can tell these two cases apart. Numbers that differ in their last bit alone are
-- the same, as in run/centring.py.
CREATE OR REPLACE FUNCTION sqlsvm._with_constants(p sqlsvm._problem, given sqlsvm._given)
RETURNS sqlsvm._problem LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    answers jsonb;
    least float8;
    most float8;
    c record;
BEGIN
    FOR c IN
        SELECT (i ->> 'place')::integer AS place, i ->> 'feature' AS feature, sums.origin,
            sums.squares - sums.total * sums.total / (p.n - missing.absent) <= 1e-10 * sums.squares AS flat
        FROM jsonb_array_elements(p.design -> 'coordinates') AS i,
            LATERAL (SELECT coalesce(sum(p.total[(m ->> 'place')::integer]), 0) AS absent
                FROM jsonb_array_elements(p.design -> 'coordinates') AS m
                WHERE m ->> 'role' = 'missing' AND m ->> 'feature' = i ->> 'feature') AS missing,
            LATERAL (SELECT p.squares[(i ->> 'place')::integer] AS squares, p.total[(i ->> 'place')::integer] AS total,
                coalesce((SELECT (f ->> 'origin')::float8 FROM jsonb_array_elements(p.design -> 'features') AS f
                    WHERE f -> 'terms' = jsonb_build_array(i -> 'place')), 0) AS origin) AS sums
        WHERE i ->> 'role' IN ('value', 'term') AND sums.squares > 0 AND p.n > missing.absent
            AND (sums.squares - sums.total * sums.total / (p.n - missing.absent) <= 1e-10 * sums.squares
                OR sqrt(sums.squares / p.n) <= 2::float8 ^ -51 * abs(sums.origin))
    LOOP
        IF answers IS NULL THEN
            answers := (SELECT jsonb_object_agg(r.key, r.value) FROM jsonb_each(sqlsvm._run('range', given)) AS a, jsonb_each(a.value -> 0) AS r);
            PERFORM sqlsvm._drop('range');
        END IF;
        least := answers ->> ('least' || c.place - 1);
        most := answers ->> ('most' || c.place - 1);
        IF most - least <= 2::float8 ^ -52 * greatest(abs(least + c.origin), abs(most + c.origin)) THEN
            p.squares[c.place] := 0;
        ELSIF c.flat AND most - least > 1e-13 * greatest(abs(least), abs(most)) THEN
            RAISE EXCEPTION 'feature "%" is between % and %: its mean is much larger than its deviation', c.feature, least, most
                USING ERRCODE = 'SV004', DETAIL = 'Sums of such numbers lose the digits in which they differ.',
                HINT = format('Subtract a constant in the query, about %s, and compile it again: sqlsvm compile --name ...',
                    to_char(floor(least), 'FM99999999999999999990'));
        ELSIF c.flat THEN
            p.squares[c.place] := 0;
        END IF;
    END LOOP;
    RETURN p;
END $$;
