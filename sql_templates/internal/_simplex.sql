-- max offsets.alpha - alpha' gram alpha / (4 curvature) over the simplex, by an active set: add the steepest index to the
-- support, then walk to the best point of its face. The result is used only in a bound that holds for any alpha.
CREATE OR REPLACE FUNCTION sqlsvm._simplex(gram float8[], offsets float8[], curvature float8, start float8[])
RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n integer := cardinality(offsets);
    alpha float8[] := start;
    support integer[] := ARRAY(SELECT i FROM unnest(start) WITH ORDINALITY AS s (a, i) WHERE a > 0 ORDER BY i);
    noise float8 := 1e-13 * (SELECT max(abs(o)) FROM unnest(offsets) AS o) + 1e-15 * (
        SELECT max(gram[(i - 1) * n + i]) FROM generate_series(1, n) AS i) / (2 * curvature);
    trial float8[];
    gradient float8[];
    value float8 := '-Infinity';
    risen float8;
    entering integer;
BEGIN
    FOR turn IN 1 .. 10 * n + 50 LOOP
        SELECT w.alpha, w.support INTO trial, support FROM sqlsvm._walk_face(gram, offsets, curvature, alpha, support) AS w;
        gradient := ARRAY(SELECT offsets[i] - (SELECT sum(gram[(i - 1) * n + j] * trial[j]) FROM unnest(support) AS j)
            / (2 * curvature) FROM generate_series(1, n) AS i ORDER BY i);
        risen := sqlsvm._dot(trial, sqlsvm._plus(offsets, 1, gradient)) / 2;
        EXIT WHEN NOT risen > value;
        alpha := trial;
        value := risen;
        entering := (SELECT i FROM unnest(gradient) WITH ORDINALITY AS s (g, i) WHERE i <> ALL (support) ORDER BY g DESC LIMIT 1);
        EXIT WHEN entering IS NULL OR gradient[entering] - sqlsvm._dot(alpha, gradient) <= noise;
        support := support || entering;
    END LOOP;
    RETURN alpha;
END
$$;

COMMENT ON FUNCTION sqlsvm._simplex(float8[], float8[], float8, float8[]) IS 'The dual of a bundle of cuts';
