-- Trains a compiled program on the data as it is now and stores a new version of the model
CREATE OR REPLACE FUNCTION sqlsvm.train(
    model text,
    lambda float8 DEFAULT NULL,
    tol float8 DEFAULT NULL,
    max_passes integer DEFAULT NULL,
    solver text DEFAULT NULL,
    trust text DEFAULT NULL)
RETURNS sqlsvm.training LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    began timestamptz := clock_timestamp();
    program sqlsvm.programs;
    p sqlsvm._problem;
    at sqlsvm._state;
    trained sqlsvm.training;
    wanted jsonb;
BEGIN
    PERFORM sqlsvm._check_rights();
    -- One training of a program at a time, and none while it is compiled or dropped.
    PERFORM FROM sqlsvm.programs AS held WHERE held.name = model FOR NO KEY UPDATE;
    program := sqlsvm._take_program(model, trust);
    IF 2147483647 = (SELECT m.last_version FROM sqlsvm.models AS m WHERE m.name = program.name) THEN
        RAISE EXCEPTION 'the model "%" has had 2147483647 versions', program.name
            USING ERRCODE = 'SV003', HINT = 'Compile it again under another name.';
    END IF;
    wanted := sqlsvm._wanted(program, lambda, tol, max_passes, solver);
    FOR attempt IN 1 .. 10 LOOP
        BEGIN
            p := sqlsvm._open(program, wanted -> 'problem' ->> 'scale');
            at := sqlsvm._search(p, program, wanted);
            EXIT;
        EXCEPTION WHEN SQLSTATE 'SV009' THEN  -- what it reads has moved: a partition was attached, say
            IF attempt = 10 THEN
                RAISE;
            END IF;
            RAISE NOTICE 'beginning again: %', SQLERRM;
        END;
    END LOOP;
    trained := sqlsvm._keep(p, program, wanted, at, extract(epoch FROM clock_timestamp() - began)::float8);
    IF NOT trained.converged THEN
        RAISE NOTICE 'not converged: the gap is % and should be %', trim_scale(round(trained.gap::numeric, 1 - floor(log(trained.gap))::integer)),
            wanted -> 'effort' ->> 'tol'
        USING HINT = CASE WHEN at.rounded > at.gap / 2 THEN 'The rounding of sums of doubles is most of it, so more passes prove no more: '
                || CASE wanted -> 'problem' ->> 'scale' WHEN 'standard' THEN '' ELSE 'compile the program with --scale standard, or ' END
                || 'give a larger tol.'
            ELSE 'Give a larger max_passes or tol.' END;
    END IF;
    DROP TABLE pg_temp.sqlsvm_cuts, pg_temp.sqlsvm_vectors, pg_temp.sqlsvm_limits;
    PERFORM sqlsvm._close();
    RETURN trained;
END $$;
