-- From x to the best point of the face of the support; the parts of a step for cuts add up to 0. The matrix is lifted a little, so that
-- a flat direction gives a long step instead of none. An index whose x reaches 0 on the way leaves the support.
CREATE OR REPLACE FUNCTION sqlsvm._walk_face(
    gram float8[], offsets float8[], is_cut boolean[], INOUT x float8[], INOUT support integer[])
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n integer := cardinality(offsets);
    face float8[];
    cuts float8[];
    lift float8[];
    along float8[];
    step float8[];
    reach float8;
    blocking integer;
    total float8;
BEGIN
    WHILE cardinality(support) > 1 LOOP
        face := ARRAY(SELECT gram[(a.i - 1) * n + b.i]
            FROM unnest(support) WITH ORDINALITY AS a (i, place), unnest(support) WITH ORDINALITY AS b (i, place)
            WHERE b.place <= a.place ORDER BY a.place, b.place);
        cuts := ARRAY(SELECT is_cut[a.i]::integer FROM unnest(support) WITH ORDINALITY AS a (i, place) ORDER BY a.place);
        lift := array_fill((SELECT greatest(1e-12 * max(abs(v)), 1e-30) FROM unnest(face) AS v), ARRAY[cardinality(support)]);
        along := sqlsvm._solve(face, lift, cuts);
        step := sqlsvm._solve(face, lift, ARRAY(
            SELECT offsets[a.i] - (SELECT sum(gram[(a.i - 1) * n + b.i] * x[b.i]) FROM unnest(support) AS b (i))
            FROM unnest(support) WITH ORDINALITY AS a (i, place) ORDER BY a.place));
        IF sqlsvm._dot(along, cuts) > 0 THEN
            step := sqlsvm._plus(step, -sqlsvm._dot(step, cuts) / sqlsvm._dot(along, cuts), along);
        END IF;
        SELECT s.i, x[s.i] / -s.step INTO blocking, reach
        FROM unnest(support, step) AS s (i, step) WHERE s.step < 0 ORDER BY x[s.i] / -s.step LIMIT 1;
        FOR k IN 1 .. cardinality(support) LOOP
            x[support[k]] := greatest(0, x[support[k]] + least(1, coalesce(reach, 1)) * step[k]);
        END LOOP;
        EXIT WHEN coalesce(reach, 2) > 1;
        x[blocking] := 0;
        support := array_remove(support, blocking);
    END LOOP;
    total := (SELECT sum(x[i]) FROM generate_series(1, n) AS i WHERE is_cut[i]);
    IF total > 0 THEN
        -- A trace of a cut would only underflow in the products to come.
        x := ARRAY(SELECT CASE WHEN NOT is_cut[s.i] THEN s.a WHEN s.a > 1e-14 * total THEN s.a / total ELSE 0 END
            FROM unnest(x) WITH ORDINALITY AS s (a, i) ORDER BY s.i);
    ELSE
        x[(SELECT i FROM generate_series(1, n) AS i WHERE is_cut[i] ORDER BY i <> ALL (support), i LIMIT 1)] := 1;
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._walk_face(float8[], float8[], boolean[], float8[], integer[]) IS 'The best point of a face';
