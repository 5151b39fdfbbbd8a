-- Scores may be known only within delta. With shifts one statement gives the value and both bounds: for rows above, shifts of
-- 0, delta and -delta; for the AUC twice that, because two scores that are each off by delta may be 2 delta apart.
CREATE OR REPLACE FUNCTION sqlsvm._read_list(p sqlsvm._problem, asked sqlsvm._given, delta float8)
RETURNS sqlsvm._seen
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given sqlsvm._given := asked;
    shifts float8[] := CASE WHEN delta > 0 THEN ARRAY[0, delta, -delta] ELSE ARRAY[0] END;
    answer jsonb;
    area float8;
    seen sqlsvm._seen;
BEGIN
    FOR i IN 1 .. cardinality(shifts) LOOP
        given.shift := shifts[i];
        answer := sqlsvm._run('above', given) -> 'rows above' -> 0;
        seen.false_positive[i] := (answer ->> 'negative')::float8 / p.weight_negative;
        seen.true_positive[i] := (answer ->> 'positive')::float8 / p.weight_positive;
        given.shift := 2 * shifts[i];
        area := sqlsvm._run(CASE WHEN i = 1 THEN 'area' ELSE 'moved area' END, given) -> 'area' -> 0 ->> 'area';
        seen.auc[i] := area / nullif((answer ->> 'all_negative')::float8 * (answer ->> 'all_positive')::float8, 0);
    END LOOP;
    IF cardinality(shifts) = 1 THEN
        seen.false_positive := array_fill(seen.false_positive[1], ARRAY[3]);
        seen.true_positive := array_fill(seen.true_positive[1], ARRAY[3]);
        seen.auc := array_fill(seen.auc[1], ARRAY[3]);
    END IF;
    seen.negatives := (answer ->> 'all_negative')::float8 / p.weight_negative;
    seen.positives := (answer ->> 'all_positive')::float8 / p.weight_positive;
    RETURN seen;
END
$$;

COMMENT ON FUNCTION sqlsvm._read_list(sqlsvm._problem, sqlsvm._given, float8) IS 'Confusion matrix and AUC from the list of scores';
