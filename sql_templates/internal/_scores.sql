CREATE OR REPLACE FUNCTION sqlsvm._scores(p sqlsvm._problem, theta float8[], buckets integer)
RETURNS sqlsvm._seen
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    listed CONSTANT record := sqlsvm._list(p, sqlsvm._arguments(p, theta), buckets);
    seen sqlsvm._seen := sqlsvm._read_list(p, listed.given, listed.delta);
BEGIN
    IF listed.at_centre IS NOT NULL THEN  -- with two bags the confusion matrix is exact even then
        seen.false_positive := array_fill((listed.at_centre ->> 'negative')::float8 / p.weight_negative, ARRAY[3]);
        seen.true_positive := array_fill((listed.at_centre ->> 'positive')::float8 / p.weight_positive, ARRAY[3]);
    END IF;
    RETURN seen;
END
$$;

COMMENT ON FUNCTION sqlsvm._scores(sqlsvm._problem, float8[], integer) IS
    'Confusion matrix and AUC from the scores of all join rows';
