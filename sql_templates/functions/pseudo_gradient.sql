-- The paper's pseudo-gradient on the original columns: rows farther than epsilon from the flat side of the hinge, + 2 lambda beta
CREATE OR REPLACE FUNCTION sqlsvm.pseudo_gradient(
    model text, beta jsonb DEFAULT NULL, epsilon float8 DEFAULT 0.1, lambda float8 DEFAULT NULL,
    trust text DEFAULT NULL)
RETURNS TABLE (feature text, category text, hinge float8, gradient float8)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p sqlsvm._problem;
    given sqlsvm._given;
    levels float8[];
    slope float8[];
    label integer;
BEGIN
    PERFORM sqlsvm._check_option('epsilon', epsilon, 0, false, 'epsilon => 0.1');
    PERFORM sqlsvm._check_option('lambda', lambda, 0, false, 'lambda => 1e-4');
    p := sqlsvm._begun(model, beta, trust, 'the bounds of the pseudo-gradient are for');
    levels := sqlsvm._sketch_levels(p, epsilon);
    -- -(1/N) sum of y x over the rows with 1 - y beta.x >= epsilon |beta|.|x|, on raw coordinates: one run for each label.
    slope := array_fill(0::float8, ARRAY[p.size]);
    FOREACH label IN ARRAY ARRAY[-1, 1] LOOP
        given := sqlsvm._arguments(p, p.theta, label);
        given.bound := 1;
        given.slack := epsilon;
        given.levels := levels;
        slope := sqlsvm._plus(slope, -label / p.n, sqlsvm._sums(p, sqlsvm._run('far sums', given)));
        PERFORM sqlsvm._drop('far sums');
    END LOOP;
    slope := sqlsvm._from_raw(p, slope);
    IF p.constant IS NOT NULL THEN
        p.theta[p.constant] := p.theta[p.constant] - sqlsvm._at_origins(p, p.theta);
    END IF;
    RETURN QUERY
        SELECT n.feature, n.category, slope[n.place], slope[n.place] + 2 * coalesce(lambda, (p.options ->> 'lam')::float8) * p.theta[n.raw]
        FROM sqlsvm._features(p) AS n ORDER BY n.place;
    PERFORM sqlsvm._close();
END $$;
