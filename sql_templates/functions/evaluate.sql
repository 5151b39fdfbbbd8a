-- Over all rows of the join as it is now: confusion matrix, rates and ROC AUC; or how far scores are off, for a number; lower = upper if exact
CREATE OR REPLACE FUNCTION sqlsvm.evaluate(model text, beta jsonb DEFAULT NULL, buckets integer DEFAULT NULL, trust text DEFAULT NULL)
RETURNS TABLE (measure text, value float8, lower float8, upper float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit_above_cost = 3000000 SET jit_optimize_above_cost = 3000000 SET jit_inline_above_cost = -1
SET synchronize_seqscans = off SET default_statistics_target = 10 SET extra_float_digits = 1
SET DateStyle = ISO SET IntervalStyle = postgres SET standard_conforming_strings = on
AS $$
DECLARE
    program sqlsvm.programs := sqlsvm._take_program(model, trust);
    given jsonb := sqlsvm._given_weights(program, beta);
    p sqlsvm._problem;
    problem CONSTANT jsonb := program.options -> 'problem';
    numeric CONSTANT boolean := program.description ->> 'numeric';
    places CONSTANT integer := coalesce(buckets, CASE WHEN numeric THEN 4096 ELSE 256 END);
BEGIN
    PERFORM sqlsvm._check_option('buckets', places, 1, true, 'buckets => 256');
    p := sqlsvm._open(program, 'none');
    IF numeric THEN
        RETURN QUERY SELECT m.measure, m.found[1], m.found[2], m.found[3] FROM sqlsvm._residuals(p, sqlsvm._theta(p, given), places,
            CASE WHEN problem ->> 'loss' = 'quantile' THEN (problem ->> 'quantile')::float8 ELSE 0.5 END) AS m;
    ELSE
        RETURN QUERY SELECT m.measure, m.found[1], m.found[2], m.found[3]
            FROM sqlsvm._measures(sqlsvm._scores(p, sqlsvm._theta(p, given), places)) AS m;
    END IF;
    PERFORM sqlsvm._drop('list', 'list of pairs', 'grid list');
    PERFORM sqlsvm._close();
END
$$;
