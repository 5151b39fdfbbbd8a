-- The deviation of a label that is a number; NULL if lambda and l1 are for the label as it is. `Scaling.label` is the same
CREATE OR REPLACE FUNCTION sqlsvm._label_width(p sqlsvm._problem, scale text)
RETURNS float8 LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN scale = 'standard' AND p.n_negative IS NULL AND label.variance > 1e-12 * label.squares
        THEN sqrt(label.variance) END
    FROM (SELECT p.origin ^ 2 AS squares, p.origin ^ 2 - (p.label_total / p.n) ^ 2 AS variance) AS label
$$;
