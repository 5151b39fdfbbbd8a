-- Runs a part of the program that was taken; the answers by name
-- In order: working tables are made and analysed; the rows of other statements are returned by name. An answer that is too wide
-- for one statement has several of that name, with the same rows.
CREATE OR REPLACE FUNCTION sqlsvm._run(part text, given sqlsvm._given DEFAULT NULL)
RETURNS jsonb LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    answers jsonb := '{}';
    answer jsonb;
    step record;
BEGIN
    FOR step IN
        SELECT s.name, s.working_table, s.text FROM pg_temp.sqlsvm_statements AS s
        WHERE s.part = _run.part ORDER BY s.place
    LOOP
        IF step.working_table IS NULL THEN
            EXECUTE format('SELECT jsonb_agg(to_jsonb(answer)) FROM (%s) AS answer', step.text) INTO answer
            USING given.theta, given.bound, given.buckets, given.label, given.levels, given.slack,
                given.shift, given.lowest, given.width, given.weight_negative, given.weight_positive;
            answers := answers || jsonb_build_object(step.name, CASE WHEN answers ? step.name THEN (
                SELECT jsonb_agg(a.row || (answer -> a.n::integer - 1) ORDER BY a.n)
                FROM jsonb_array_elements(answers -> step.name) WITH ORDINALITY AS a (row, n)) ELSE coalesce(answer, '[]') END);
        ELSE
            EXECUTE step.text
            USING given.theta, given.bound, given.buckets, given.label, given.levels, given.slack,
                given.shift, given.lowest, given.width, given.weight_negative, given.weight_positive;
            EXECUTE format('ANALYZE pg_temp.%I', step.working_table);
        END IF;
    END LOOP;
    RETURN answers;
END $$;
