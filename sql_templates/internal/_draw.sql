-- The sample as DANE sees it: a table of rows y x, scaled, z1 to zd. The points are drawn here, a list for each node:
-- stratified over the whole join at the label's node, uniform within what is left at every node below.
CREATE OR REPLACE FUNCTION sqlsvm._draw(p sqlsvm._problem, size integer, seed integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    given sqlsvm._given := sqlsvm._parameters(p);
    label_node text := p.design ->> 'label_node';
    root_points float8[];
    step record;
BEGIN
    PERFORM setseed(2 * ((seed % 999983) / 999983.0) - 1);
    root_points := ARRAY(SELECT (i - 1 + random()) / size * p.n FROM generate_series(1, size) AS i ORDER BY i);
    given.density := size / p.n;
    FOR step IN
        SELECT s.name, s.working_table, s.texts FROM sqlsvm.statements AS s
        WHERE s.program = p.program AND s.part = 'sample' ORDER BY s.place
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
    PERFORM sqlsvm._drop(p.program, 'sample');
    FOR step IN SELECT node FROM jsonb_array_elements_text(p.design -> 'samples') AS node LOOP
        EXECUTE format('DROP TABLE pg_temp.%I', 'sqlsvm_sample ' || step.node);
    END LOOP;
END
$$;

COMMENT ON FUNCTION sqlsvm._draw(sqlsvm._problem, integer, integer) IS 'Draws rows of the join into sqlsvm_local';
