-- A program to run, and a copy of its statements; refused if the caller does not trust who has written them
-- A run works on its own copy of the statements. So what it runs cannot change after the owners were checked, and it
-- needs no lock that another session would wait for. The function is VOLATILE to see a program that was stored meanwhile.
CREATE OR REPLACE FUNCTION sqlsvm._take_program(name text, trust text)
RETURNS sqlsvm.programs LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    program sqlsvm.programs := sqlsvm._find_program(name);
    stranger record;
    settings jsonb;
BEGIN
    SELECT c.name INTO stranger FROM (SELECT relname, relnamespace FROM pg_class UNION SELECT typname, typnamespace FROM pg_type)
        AS c (name, schema) WHERE c.schema = pg_my_temp_schema() AND c.name ~ '^sqlsvm_' LIMIT 1;
    IF found THEN
        RAISE EXCEPTION 'the temporary relation "%" has a name that a run of "%" may need', stranger.name, name USING ERRCODE = 'SV003',
            HINT = 'Drop or rename it, or use another session: no other temporary relation may have a name that begins with sqlsvm_.';
    END IF;
    CREATE TEMPORARY TABLE sqlsvm_statements AS
    SELECT s.part, s.place, s.name, s.working_table, s.text, s.owner
    FROM sqlsvm.programs AS p JOIN sqlsvm.statements AS s ON s.program = p.name
    WHERE p.name = program.name AND p.compiled_at = program.compiled_at AND p.owner IS NOT DISTINCT FROM program.owner;
    IF program.description #> '{trained_on,names}' IS NULL
        OR NOT EXISTS (SELECT FROM sqlsvm.statements AS s WHERE s.program = program.name) THEN
        RAISE EXCEPTION 'the program "%" was compiled by an older sqlsvm', name USING ERRCODE = 'SV002',
            HINT = format('Compile it again: sqlsvm compile --name %L --label %L --query ...', name, program.label);
    ELSIF NOT EXISTS (SELECT FROM pg_temp.sqlsvm_statements) THEN
        RAISE EXCEPTION 'the program "%" was compiled again at this moment', name USING ERRCODE = 'SV002',
            HINT = 'Run it again.';
    END IF;
    SELECT w.owner INTO stranger
    FROM (SELECT program.owner UNION SELECT s.owner FROM pg_temp.sqlsvm_statements AS s) AS w (owner)
    WHERE NOT sqlsvm._trusts(w.owner, trust) ORDER BY w.owner LIMIT 1;
    IF found THEN
        RAISE EXCEPTION USING ERRCODE = 'SV007',
            MESSAGE = CASE WHEN stranger.owner IS NULL THEN format('it is not known who stored the program "%s"', name)
                ELSE format('role "%s" has stored what the program "%s" runs, and you do not trust that role',
                    stranger.owner, name) END,
            DETAIL = format('It would run with the rights of "%s".', current_user),
            HINT = CASE WHEN stranger.owner IS NULL THEN 'Compile it again: sqlsvm compile --name ...'
                ELSE format('SELECT * FROM sqlsvm.explain(%L); shows it. If you trust the role, add trust => %L.',
                    name, stranger.owner) END;
    -- A trainer can delete what others have stored, and without its checks a program would prove what is not true.
    ELSIF (SELECT count(*) FROM pg_temp.sqlsvm_statements) IS DISTINCT FROM (program.description ->> 'statements')::bigint THEN
        RAISE EXCEPTION 'statements of the program "%" are missing', name USING ERRCODE = 'SV002',
            HINT = format('Compile it again: sqlsvm compile --name %L --label %L --query ...', name, program.label);
    END IF;
    PERFORM sqlsvm._check_names(program);
    -- A run has these settings of the session that compiled it, and no other: explain shows none. _close puts back what was before.
    settings := (SELECT jsonb_object_agg(s.key, s.value) FROM jsonb_each(program.description -> 'settings') AS s
        WHERE s.key IN ('TimeZone', 'DateStyle', 'IntervalStyle', 'extra_float_digits', 'standard_conforming_strings',
            'synchronize_seqscans', 'default_statistics_target', 'jit_above_cost', 'jit_optimize_above_cost', 'jit_inline_above_cost'));
    PERFORM set_config('sqlsvm.before', (SELECT jsonb_object_agg(s.key, current_setting(s.key)) FROM jsonb_each(settings) AS s)::text, true);
    PERFORM set_config(s.key, s.value, true) FROM jsonb_each_text(settings) AS s;
    RETURN program;
END $$;
