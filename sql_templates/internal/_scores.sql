-- Confusion matrix and AUC from the scores of all join rows
-- Scores may be known only within delta. With shifts one statement gives the value and both bounds: for rows above, shifts of
-- 0, delta and -delta; for the AUC twice that, because two scores that are each off by delta may be 2 delta apart.
CREATE OR REPLACE FUNCTION sqlsvm._scores(p sqlsvm._problem, theta float8[], buckets integer)
RETURNS sqlsvm._seen LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    listed CONSTANT record := sqlsvm._list(p, sqlsvm._arguments(p, theta), buckets);
    given sqlsvm._given := listed.given;
    shifts CONSTANT float8[] := ARRAY[0, listed.delta, -listed.delta];
    answer jsonb;
    from_0 jsonb;
    area float8;
    seen sqlsvm._seen;
BEGIN
    FOR i IN 1 .. 3 LOOP
        IF i = 1 OR listed.delta > 0 THEN
            given.shift := shifts[i];
            answer := sqlsvm._run('above', given) -> 'rows above' -> 0;
            given.shift := 2 * shifts[i];
            area := sqlsvm._run(CASE WHEN i = 1 THEN 'area' ELSE 'moved area' END, given) -> 'area' -> 0 ->> 'area';
        END IF;
        from_0 := answer;
        IF i = 1 AND listed.delta > 0 AND listed.at_centre IS NULL THEN
            given.shift := -1;
            from_0 := sqlsvm._run('above', given) -> 'rows above' -> 0;
        END IF;
        seen.auc[i] := area / nullif((answer ->> 'all_negative')::float8 * (answer ->> 'all_positive')::float8, 0);
        -- With two bags the confusion matrix is exact even where scores are not. Else half of the rows that are rounded to 0 are above it.
        seen.false_positive[i] := ((coalesce(listed.at_centre, answer) ->> 'negative')::float8
            + (coalesce(listed.at_centre, from_0) ->> 'negative')::float8) / 2 / p.weight_negative;
        seen.true_positive[i] := ((coalesce(listed.at_centre, answer) ->> 'positive')::float8
            + (coalesce(listed.at_centre, from_0) ->> 'positive')::float8) / 2 / p.weight_positive;
    END LOOP;
    seen.negatives := (answer ->> 'all_negative')::float8 / p.weight_negative;
    seen.positives := (answer ->> 'all_positive')::float8 / p.weight_positive;
    RETURN seen;
END $$;
