-- max offsets.x - x' gram x / 2, where the x of cuts are in the simplex and all others only not below 0, by an active set: add the
-- steepest index to the support, then walk to the best point of its face. The result is used only in a bound that holds for any x.
CREATE OR REPLACE FUNCTION sqlsvm._simplex(gram float8[], offsets float8[], is_cut boolean[], start float8[])
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n integer := cardinality(offsets);
    x float8[] := start;
    support integer[] := ARRAY(SELECT i FROM unnest(start) WITH ORDINALITY AS s (a, i) WHERE a > 0 ORDER BY i);
    noise float8 := 1e-13 * (SELECT max(abs(o)) FROM unnest(offsets) AS o) + 1e-15 * (
        SELECT max(gram[(i - 1) * n + i]) FROM generate_series(1, n) AS i);
    trial float8[];
    gradient float8[];
    value float8 := '-Infinity';
    risen float8;
    entering integer;
    steepness float8;
BEGIN
    FOR turn IN 1 .. 10 * n + 50 LOOP
        SELECT w.x, w.support INTO trial, support FROM sqlsvm._walk_face(gram, offsets, is_cut, x, support) AS w;
        gradient := ARRAY(SELECT offsets[i] - (SELECT sum(gram[(i - 1) * n + j] * trial[j]) FROM unnest(support) AS j)
            FROM generate_series(1, n) AS i ORDER BY i);
        risen := sqlsvm._dot(trial, sqlsvm._plus(offsets, 1, gradient)) / 2;
        EXIT WHEN NOT risen > value;
        x := trial;
        value := risen;
        SELECT s.i, s.steep INTO entering, steepness
        FROM (SELECT g.i, CASE WHEN is_cut[g.i] THEN g.g - a.cuts ELSE g.g END AS steep
            FROM unnest(gradient) WITH ORDINALITY AS g (g, i),
                (SELECT sum(x[i] * gradient[i]) AS cuts FROM generate_series(1, n) AS i WHERE is_cut[i]) AS a
            WHERE g.i <> ALL (support)) AS s ORDER BY s.steep DESC LIMIT 1;
        EXIT WHEN entering IS NULL OR steepness <= noise;
        support := support || entering;
    END LOOP;
    RETURN x;
END
$$;

COMMENT ON FUNCTION sqlsvm._simplex(float8[], float8[], boolean[], float8[]) IS 'The dual of a bundle where it is quadratic';
