-- Every statement that a program runs, in order; $1 is theta, $2 the bound, $3 the buckets
CREATE OR REPLACE FUNCTION sqlsvm.explain(model text)
RETURNS TABLE (part text, place integer, name text, working_table text, statement text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT sqlsvm._find_program(model);
    SELECT s.part, s.place, s.name, s.working_table, s.text FROM sqlsvm.statements AS s
    WHERE s.program = model
    ORDER BY array_position(ARRAY['names', 'sources', 'prepare', 'checks', 'moments', 'pass'], s.part), s.part, s.place
$$;
