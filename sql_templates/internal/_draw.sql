-- Draws the points of a sample for each node: stratified over the whole join at the label's node, and uniform within the
-- rest at every node below.
CREATE OR REPLACE FUNCTION sqlsvm._draw(p sqlsvm._problem, effort jsonb, lambda float8)
RETURNS sqlsvm._local
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given sqlsvm._given := sqlsvm._arguments(p);
    label_node text := p.design ->> 'label_node';
    size integer := sqlsvm._sample_size(p, (effort ->> 'sample')::integer);
    seed integer := effort ->> 'seed';
    root_points float8[];
    local sqlsvm._local;
    step record;
BEGIN
    PERFORM setseed(2 * ((seed % 999983) / 999983.0) - 1);
    root_points := ARRAY(SELECT (i - 1 + random()) / size * p.n FROM generate_series(1, size) AS i ORDER BY i);
    given.density := size / p.n;
    FOR step IN
        SELECT s.name, s.working_table, s.texts FROM pg_temp.sqlsvm_statements AS s
        WHERE s.part = 'sample' ORDER BY s.place
    LOOP
        given.points := CASE WHEN step.working_table IN ('sqlsvm_intervals' || label_node, 'sqlsvm_drawn' || label_node)
            OR step.working_table IS NULL THEN root_points ELSE ARRAY(SELECT random() FROM generate_series(1, size)) END;
        EXECUTE CASE WHEN step.working_table IS NULL
            THEN format('CREATE TEMPORARY TABLE %I AS %s', 'sqlsvm_' || step.name, step.texts[1]) ELSE step.texts[1] END
        USING given.theta, given.bound, given.buckets, given.label, given.levels, given.slack,
            given.shift, given.lowest, given.width, given.points, given.weight_negative, given.weight_positive, given.density;
        IF step.working_table IS NOT NULL THEN
            EXECUTE step.texts[2];
        END IF;
    END LOOP;
    EXECUTE sqlsvm._local_rows(p) USING p.scale, p.mean, p.centre;
    ANALYZE pg_temp.sqlsvm_local;
    CREATE TEMPORARY TABLE sqlsvm_near (LIKE pg_temp.sqlsvm_local);
    PERFORM sqlsvm._drop('sample');
    EXECUTE format('DROP TABLE pg_temp.%I', 'sqlsvm_sample ' || label_node);
    local.rows := (SELECT greatest(count(*), 1) FROM pg_temp.sqlsvm_local);
    local.numbers := cardinality(p.kept);
    local.dictionaries := jsonb_array_length(p.design -> 'dictionaries');
    local.dimension := p.dimension;
    local.lambda := lambda;
    local.squares := sqlsvm._local_squares(local, 'sqlsvm_local');
    RETURN local;
END
$$;

COMMENT ON FUNCTION sqlsvm._draw(sqlsvm._problem, jsonb, float8) IS 'Draws rows of the join into sqlsvm_local';
