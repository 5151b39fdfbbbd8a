DROP FUNCTION IF EXISTS sqlsvm.evaluate(text, jsonb, integer);

CREATE OR REPLACE FUNCTION sqlsvm.evaluate(model text, beta jsonb DEFAULT NULL, buckets integer DEFAULT 256, trust text DEFAULT NULL)
RETURNS TABLE (measure text, value float8, lower float8, upper float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off SET synchronize_seqscans = off SET default_statistics_target = 10 SET extra_float_digits = 1
AS $$
DECLARE
    program sqlsvm.programs := sqlsvm._take_program(model, trust);
    given jsonb := sqlsvm._given_weights(program, beta);
    p sqlsvm._problem;
    seen sqlsvm._seen;
BEGIN
    PERFORM sqlsvm._check_option('buckets', buckets, 1, true, 'buckets => 256');
    p := sqlsvm._open(program, 'none');
    seen := sqlsvm._scores(p, sqlsvm._theta(p, given), buckets);
    PERFORM sqlsvm._close();
    RETURN QUERY SELECT m.measure, m.found[1], m.found[2], m.found[3] FROM sqlsvm._measures(seen) AS m;
END
$$;

COMMENT ON FUNCTION sqlsvm.evaluate(text, jsonb, integer, text) IS
    'Confusion matrix, rates and ROC AUC over all rows of the join as it is now; lower = upper if exact';
