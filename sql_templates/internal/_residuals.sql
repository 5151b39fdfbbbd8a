-- How far scores are off where the label is a number: measures, each with its bounds
-- ask/evaluate.py has the same formulas. A residual may be off by the blur, and no mean or root of a mean square is off by more.
CREATE OR REPLACE FUNCTION sqlsvm._residuals(p sqlsvm._problem, theta float8[], buckets integer)
RETURNS TABLE (measure text, found float8[])
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    listed CONSTANT record := sqlsvm._list(p, sqlsvm._arguments(p, theta), buckets);
    given sqlsvm._given := listed.given;
    seen CONSTANT jsonb := sqlsvm._run('residuals', given) -> 'residuals' -> 0;
    unit CONSTANT float8 := 1 / given.buckets;
    blur CONSTANT float8 := listed.delta * unit;
    quantile CONSTANT float8 := CASE p.options #>> '{problem,loss}' WHEN 'quantile' THEN (p.options #>> '{problem,quantile}')::float8 ELSE 0.5 END;
    n CONSTANT float8 := seen ->> 'n';
    over_n CONSTANT float8 := (seen ->> 'over')::float8 * unit / n;
    under_n CONSTANT float8 := (seen ->> 'under')::float8 * unit / n;
    rmse CONSTANT float8 := sqrt((seen ->> 'squares')::float8 / n) * unit;
    squares CONSTANT float8 := p.origin ^ 2;
    spread CONSTANT float8 := squares - (p.label_total / p.n) ^ 2;
    covered float8[] := '{}';
BEGIN
    FOREACH given.shift IN ARRAY ARRAY[0, -listed.delta, listed.delta] LOOP
        covered := covered || (sqlsvm._run('covered', given) -> 'covered' -> 0 ->> 'n')::float8 / n;
    END LOOP;
    RETURN QUERY
        SELECT m.measure, ARRAY[m.value, greatest(0, m.value - m.off), m.value + m.off]
        FROM (VALUES ('mae', over_n + under_n, blur), ('rmse', rmse, blur),
            ('pinball', quantile * over_n + (1 - quantile) * under_n, greatest(quantile, 1 - quantile) * blur)) AS m (measure, value, off)
        UNION ALL
        SELECT 'r2', ARRAY(SELECT 1 - e.rmse ^ 2 / spread
            FROM unnest(ARRAY[rmse, rmse + blur, greatest(0, rmse - blur)]) WITH ORDINALITY AS e (rmse, i) ORDER BY e.i)
        WHERE spread > 1e-12 * squares
        UNION ALL
        SELECT 'coverage', covered;
END $$;
