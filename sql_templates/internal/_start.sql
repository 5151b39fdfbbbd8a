-- Where a training makes its first pass
-- The newest model, if it was trained for this lambda since the program was compiled: an older one may have had another loss. Else
-- the optimum of the sample of that time. Weights whose penalty alone is above F(0), as the sample knows it, are of no use.
CREATE OR REPLACE FUNCTION sqlsvm._start(p sqlsvm._problem, program sqlsvm.programs, penalty sqlsvm._penalty, wanted jsonb)
RETURNS float8[] LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    given jsonb := program.start -> 'theta';
    at_zero CONSTANT float8 := program.start ->> 'at_zero';
    point float8[];
BEGIN
    BEGIN
        IF (SELECT v.lam = (wanted ->> 'lam')::float8 AND v.created_at >= program.compiled_at FROM sqlsvm.versions AS v
            WHERE v.name = program.name ORDER BY v.version DESC LIMIT 1)
        THEN
            given := sqlsvm._newest_weights(program.name) || '{"old": true}';
        END IF;
    EXCEPTION WHEN data_exception OR SQLSTATE 'SV005' OR SQLSTATE 'SV008' THEN
        NULL;  -- a version that cannot be read
    END;
    point := sqlsvm._to_scaled(p, sqlsvm._theta(p, given));
    RETURN CASE WHEN (SELECT max(abs(e.x)) FROM unnest(point) WITH ORDINALITY AS e (x, j) WHERE e.j IS DISTINCT FROM penalty.intercept)
            <= sqrt(at_zero / penalty.lambda) AND sqlsvm._penalty_of(penalty, point) <= at_zero
        THEN point ELSE array_fill(0::float8, ARRAY[p.dimension]) END;
END $$;
