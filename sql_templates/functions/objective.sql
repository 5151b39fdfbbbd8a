-- F of weights on the original columns, or of the trained ones: objective <= F <= objective_upper, equal up to rounding if exact
CREATE OR REPLACE FUNCTION sqlsvm.objective(
    model text, beta jsonb DEFAULT NULL, lambda float8 DEFAULT NULL, buckets integer DEFAULT 64,
    trust text DEFAULT NULL,
    OUT objective float8, OUT objective_upper float8)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p sqlsvm._problem;
    cut sqlsvm._cut;
    point float8[];
    penalty float8;
BEGIN
    PERFORM sqlsvm._check_option('lambda', lambda, 0, false, 'lambda => 1e-4');
    PERFORM sqlsvm._check_option('buckets', buckets, 1, true, 'buckets => 64');
    p := sqlsvm._begun(model, beta, trust, scaled => true);
    cut := sqlsvm._pass(p, p.theta, buckets);
    point := sqlsvm._to_scaled(p, p.theta);
    penalty := sqlsvm._penalty_of(sqlsvm._weights_of_penalty(p, p.options || jsonb_strip_nulls(jsonb_build_object('lam', lambda))), point);
    cut := sqlsvm._sized(p, sqlsvm._rounding(p), cut, point, 0, penalty);
    objective := greatest(0, cut.value_low + penalty - cut.rounded);
    objective_upper := cut.value_low + penalty + cut.error + cut.rounded;
    PERFORM sqlsvm._close();
END $$;
