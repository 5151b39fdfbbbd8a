-- The levels of a sketch
-- They keep the counts within 1 + epsilon: the largest step with (1 + step)^compressed <= 1 + epsilon, in decimals, since 1 + epsilon is
-- rounded in a double. NULL if rows are counted exactly.
CREATE OR REPLACE FUNCTION sqlsvm._sketch_levels(p sqlsvm._problem, epsilon float8)
RETURNS float8[] LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    largest float8 := 1;
    smallest float8 := 1;
    -- For links as pairs of bags: every other bag compresses its message, and a bag with k neighbours k - 2 products.
    compressed CONSTANT integer := (
        SELECT jsonb_array_length(p.design -> 'links') + coalesce(sum(greatest(0, d.degree - 2)), 0) FROM (
            SELECT count(*) AS degree FROM jsonb_array_elements(p.design -> 'links') AS l, jsonb_array_elements(l) AS bag GROUP BY bag) AS d);
    step CONSTANT float8 := (exp(ln(1 + least(epsilon, 1e6)::numeric(60, 40)) / greatest(1, compressed)) - 1)::float8 * (1 - 1e-9);
    size jsonb;
BEGIN
    IF (p.design ->> 'one_bag')::boolean OR p.design ->> 'method' = 'exact' THEN
        RETURN NULL;
    END IF;
    FOR size IN SELECT a.value -> 0 FROM jsonb_each(
        sqlsvm._run('sizes', sqlsvm._arguments(p, array_fill(0::float8, ARRAY[p.size])))) AS a
    LOOP
        largest := largest * (size ->> 'total')::float8;
        smallest := smallest * least(1, (size ->> 'smallest')::float8);
    END LOOP;
    PERFORM sqlsvm._check_levels(epsilon / (2 * jsonb_array_length(p.design -> 'links')), largest);
    IF (p.design ->> 'weighted')::boolean THEN
        RETURN ARRAY(SELECT smallest * exp(ln(1 + step) * k)
            FROM generate_series(0, floor(ln(largest / smallest) / ln(1 + step))::integer) AS k ORDER BY k);
    END IF;
    RETURN sqlsvm._levels(step, largest);
END $$;
