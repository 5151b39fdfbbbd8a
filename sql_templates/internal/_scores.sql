-- Exact if the list of scores is short enough. Otherwise on a grid with at least `buckets` places over the range, with bounds.
CREATE OR REPLACE FUNCTION sqlsvm._scores(p sqlsvm._problem, theta float8[], buckets integer)
RETURNS sqlsvm._seen
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    one_bag boolean := (p.design ->> 'one_bag')::boolean;
    given sqlsvm._given := sqlsvm._arguments(p, theta);
    at_centre jsonb;
    seen sqlsvm._seen;
BEGIN
    given.bound := 0;
    given.buckets := 1;
    IF one_bag OR p.design ->> 'method' = 'exact' THEN
        PERFORM sqlsvm._run('list', given);
        IF NOT one_bag AND (sqlsvm._run('pairs', given) -> 'pairs' -> 0 ->> 'n')::float8 > 1e7 THEN
            at_centre := sqlsvm._run('above at centre', given) -> 'rows above' -> 0;
        ELSE
            PERFORM sqlsvm._run('list of pairs', given);
            seen := sqlsvm._read_list(p, given, 0);
        END IF;
        PERFORM sqlsvm._drop('list', 'list of pairs');
    END IF;
    IF seen.negatives IS NULL THEN
        given.buckets := sqlsvm._steps_per_unit(sqlsvm._run('spans', given), buckets);
        PERFORM sqlsvm._run('grid list', given);
        seen := sqlsvm._read_list(p, given, (
            SELECT CASE WHEN sum(blur) > 0 THEN sum(blur) + 1e-9 ELSE 0 END
            FROM (SELECT (a.value -> 0 ->> 'error')::float8 AS blur
                FROM jsonb_each(sqlsvm._run('roundings', given)) AS a) AS b));
        PERFORM sqlsvm._drop('grid list');
    END IF;
    IF at_centre IS NOT NULL THEN  -- with two bags the confusion matrix is exact even then
        seen.false_positive := array_fill((at_centre ->> 'negative')::float8 / p.weight_negative, ARRAY[3]);
        seen.true_positive := array_fill((at_centre ->> 'positive')::float8 / p.weight_positive, ARRAY[3]);
    END IF;
    RETURN seen;
END
$$;

COMMENT ON FUNCTION sqlsvm._scores(sqlsvm._problem, float8[], integer) IS
    'Confusion matrix and AUC from the scores of all join rows';
