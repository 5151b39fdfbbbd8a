-- A program opened at given weights, or at those of its newest model: what counting and evaluating begin with
-- `what` says what is counted. A label that is a number has no two classes to count, and a sum over several tables no values.
CREATE OR REPLACE FUNCTION sqlsvm._begun(model text, beta jsonb, trust text, what text DEFAULT NULL, scaled boolean DEFAULT false)
RETURNS sqlsvm._problem LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    program CONSTANT sqlsvm.programs := sqlsvm._take_program(model, trust);
    p sqlsvm._problem;
    given CONSTANT jsonb := sqlsvm._given_weights(program, beta);
    feature CONSTANT text := jsonb_path_query_first(program.description, '$.coordinates[*] ? (@.role == "term").feature') #>> '{}';
BEGIN
    IF what IS NOT NULL AND (program.description ->> 'numeric')::boolean THEN
        RAISE EXCEPTION 'this counts the rows of two classes, and the label "%" is a number', program.label USING ERRCODE = 'SV003',
            HINT = format('SELECT * FROM sqlsvm.evaluate(%L); says how far scores are off.', program.name);
    ELSIF what <> 'rows' AND feature IS NOT NULL THEN
        RAISE EXCEPTION '% features of one table, and "%" adds up several', what, feature USING ERRCODE = 'SV003',
            HINT = 'Leave it out of the query, and compile it under another name.';
    END IF;
    p := sqlsvm._open(program, CASE WHEN scaled THEN program.options #>> '{problem,scale}' ELSE 'none' END);
    p.theta := sqlsvm._theta(p, given);
    RETURN p;
END $$;
