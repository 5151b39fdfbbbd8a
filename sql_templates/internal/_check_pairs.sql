-- Exact thresholds need a list of all pairs of scores that meet, which can be as long as the join itself.
CREATE OR REPLACE FUNCTION sqlsvm._check_pairs(p sqlsvm._problem, theta float8[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given sqlsvm._given := sqlsvm._arguments(p, theta);
    met float8;
BEGIN
    IF (p.design ->> 'one_bag')::boolean OR p.design ->> 'method' <> 'exact' THEN
        RETURN;
    END IF;
    given.bound := 0;
    given.buckets := 1;
    PERFORM sqlsvm._run('list', given);
    met := (sqlsvm._run('pairs', given) -> 'pairs' -> 0 ->> 'n')::float8;
    PERFORM sqlsvm._drop('list');
    IF met > 1e7 THEN
        RAISE EXCEPTION 'exact thresholds would sort % pairs of scores', to_char(met, 'FM999,999,999,999,990') USING ERRCODE = 'SV003',
            HINT = 'Compile it again with --counting grid, which rounds the scores.';
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_pairs(sqlsvm._problem, float8[]) IS 'Refuses a list of thresholds as long as the join';
