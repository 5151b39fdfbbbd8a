-- From alpha to the best point of the face of the support. An index whose alpha reaches 0 on the way leaves the support.
CREATE OR REPLACE FUNCTION sqlsvm._walk_face(
    gram float8[], offsets float8[], curvature float8, INOUT alpha float8[], INOUT support integer[])
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n integer := cardinality(offsets);
    face float8[];
    gradient float8[];
    step float8[];
    reach float8;
    blocking integer;
    total float8;
BEGIN
    WHILE cardinality(support) > 1 LOOP
        face := ARRAY(SELECT gram[(a.i - 1) * n + b.i] / (2 * curvature)
            FROM unnest(support) WITH ORDINALITY AS a (i, place), unnest(support) WITH ORDINALITY AS b (i, place)
            WHERE b.place <= a.place ORDER BY a.place, b.place);
        gradient := ARRAY(SELECT offsets[a.i] - (SELECT sum(gram[(a.i - 1) * n + b.i] * alpha[b.i]) FROM unnest(support) AS b (i))
                / (2 * curvature)
            FROM unnest(support) WITH ORDINALITY AS a (i, place) ORDER BY a.place);
        step := sqlsvm._face_step(face, gradient);
        SELECT s.i, alpha[s.i] / -s.step INTO blocking, reach
        FROM unnest(support, step) AS s (i, step) WHERE s.step < 0 ORDER BY alpha[s.i] / -s.step LIMIT 1;
        FOR k IN 1 .. cardinality(support) LOOP
            alpha[support[k]] := greatest(0, alpha[support[k]] + least(1, coalesce(reach, 1)) * step[k]);
        END LOOP;
        EXIT WHEN coalesce(reach, 2) > 1;
        alpha[blocking] := 0;
        support := array_remove(support, blocking);
    END LOOP;
    total := (SELECT sum(a) FROM unnest(alpha) AS a);
    IF total > 0 THEN
        -- A trace of a cut would only underflow in the products to come.
        alpha := ARRAY(SELECT CASE WHEN a > 1e-14 * total THEN a / total ELSE 0 END FROM unnest(alpha) WITH ORDINALITY AS s (a, i) ORDER BY i);
    ELSE
        alpha[support[1]] := 1;
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._walk_face(float8[], float8[], float8, float8[], integer[]) IS 'The best point of a face of the simplex';
