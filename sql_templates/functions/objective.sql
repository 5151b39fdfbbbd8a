-- F of weights on the original columns, or of the trained ones: objective <= F <= objective_upper, equal up to rounding if exact
CREATE OR REPLACE FUNCTION sqlsvm.objective(
    model text, beta jsonb DEFAULT NULL, lambda float8 DEFAULT NULL, buckets integer DEFAULT 64,
    trust text DEFAULT NULL,
    OUT objective float8, OUT objective_upper float8)
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
    theta float8[];
    cut sqlsvm._cut;
    point float8[];
    penalty float8;
    penalised jsonb;
BEGIN
    PERFORM sqlsvm._check_option('lambda', lambda, 0, false, 'lambda => 1e-4');
    PERFORM sqlsvm._check_option('buckets', buckets, 1, true, 'buckets => 64');
    penalised := jsonb_build_object('lam', coalesce(lambda, (program.options ->> 'lam')::float8),
        'l1', program.options -> 'l1', 'problem', program.options -> 'problem');
    p := sqlsvm._open(program, program.options -> 'problem' ->> 'scale');
    theta := sqlsvm._theta(p, given);
    cut := sqlsvm._pass(p, theta, buckets);
    point := sqlsvm._to_scaled(p, theta);
    penalty := sqlsvm._penalty_of(sqlsvm._weights_of_penalty(p, penalised), point);
    cut := sqlsvm._sized(p, sqlsvm._rounding(p), cut, point, 0, penalty);
    objective := greatest(0, cut.value_low + penalty - cut.rounded);
    objective_upper := cut.value_low + penalty + cut.error + cut.rounded;
    PERFORM sqlsvm._close();
END
$$;
