-- Scores may be known only within delta. With shifts one statement gives the value and both bounds: for rows above, shifts of
-- 0, delta and -delta; for the AUC twice that, because two scores that are each off by delta may be 2 delta apart.
CREATE OR REPLACE FUNCTION sqlsvm._read_list(p sqlsvm._problem, asked sqlsvm._given, delta float8)
RETURNS sqlsvm._seen
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given sqlsvm._given := asked;
    shifts float8[] := ARRAY[0, delta, -delta];
    answer jsonb;
    seen sqlsvm._seen;
    pairs float8;
BEGIN
    FOR i IN 1 .. 3 LOOP
        given.shift := shifts[i];
        answer := sqlsvm._run('above', given) -> 'rows above';
        seen.false_positive[i] := (sqlsvm._above(p, answer, 1))[1];
        seen.true_positive[i] := (sqlsvm._above(p, answer, 0))[1];
        given.shift := 2 * shifts[i];
        seen.auc[i] := sqlsvm._run('area', given) -> 'area' -> 0 ->> 'area';
    END LOOP;
    SELECT coalesce(sum(r.n) FILTER (WHERE r.o = 1), 0) / p.weight_negative,
        coalesce(sum(r.n) FILTER (WHERE r.o = 0), 0) / p.weight_positive
    INTO seen.negatives, seen.positives FROM jsonb_to_recordset(answer) AS r (o integer, n float8);
    pairs := seen.negatives * p.weight_negative * seen.positives * p.weight_positive;
    seen.auc := ARRAY(SELECT a / nullif(pairs, 0) FROM unnest(seen.auc) WITH ORDINALITY AS s (a, i) ORDER BY i);
    RETURN seen;
END
$$;

COMMENT ON FUNCTION sqlsvm._read_list(sqlsvm._problem, sqlsvm._given, float8) IS 'Confusion matrix and AUC from the list of scores';
