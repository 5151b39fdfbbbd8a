-- Over all rows of the join as it is now: confusion matrix, rates and ROC AUC; or how far scores are off, for a number; lower = upper if exact
CREATE OR REPLACE FUNCTION sqlsvm.evaluate(model text, beta jsonb DEFAULT NULL, buckets integer DEFAULT NULL, trust text DEFAULT NULL)
RETURNS TABLE (measure text, value float8, lower float8, upper float8)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p sqlsvm._problem;
BEGIN
    PERFORM sqlsvm._check_option('buckets', buckets, 1, true, 'buckets => 256');
    p := sqlsvm._begun(model, beta, trust);
    IF (p.design ->> 'numeric')::boolean THEN
        RETURN QUERY SELECT m.measure, m.found[1], m.found[2], m.found[3] FROM sqlsvm._residuals(p, p.theta, coalesce(buckets, 4096)) AS m;
    ELSE
        RETURN QUERY SELECT m.measure, m.found[1], m.found[2], m.found[3]
            FROM sqlsvm._measures(sqlsvm._scores(p, p.theta, coalesce(buckets, 256))) AS m;
    END IF;
    PERFORM sqlsvm._drop('list', 'list of pairs', 'grid list');
    PERFORM sqlsvm._close();
END $$;
