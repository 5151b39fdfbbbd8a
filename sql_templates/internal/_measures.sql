-- Measures, each with its bounds
-- Each rate grows with the true positives and falls with the false ones, so its bounds are at the worst and the best corner.
CREATE OR REPLACE FUNCTION sqlsvm._measures(seen sqlsvm._seen)
RETURNS TABLE (measure text, found float8[])
LANGUAGE sql IMMUTABLE AS $$
    WITH corner AS (
        SELECT i, seen.true_positive[i] AS tp, seen.false_positive[CASE i WHEN 2 THEN 3 WHEN 3 THEN 2 ELSE 1 END] AS fp,
            seen.positives AS p, seen.negatives AS n
        FROM generate_series(1, 3) AS i
    ), rated AS (
        SELECT i, n - fp AS true_negative, p - tp AS false_negative,
            coalesce((tp + n - fp) / nullif(n + p, 0), 0) AS accuracy,
            coalesce(tp / nullif(tp + fp, 0), 0) AS "precision",
            coalesce(tp / nullif(p, 0), 0) AS recall,
            coalesce(2 * tp / nullif(p + tp + fp, 0), 0) AS f1,
            coalesce((coalesce(tp / nullif(p, 0), 0) + coalesce((n - fp) / nullif(n, 0), 0))
                / nullif((p > 0)::integer + (n > 0)::integer, 0), 0) AS balanced_accuracy
        FROM corner
    )
    SELECT m.measure, CASE m.measure
        WHEN 'true_positive' THEN seen.true_positive
        WHEN 'false_positive' THEN seen.false_positive
        WHEN 'auc' THEN seen.auc
        WHEN 'false_negative' THEN (SELECT ARRAY[a[1], a[3], a[2]]
            FROM (SELECT array_agg(r.false_negative ORDER BY r.i) AS a FROM rated AS r) AS b)
        ELSE (SELECT array_agg((to_jsonb(r) ->> m.measure)::float8 ORDER BY r.i) FROM rated AS r) END
    FROM unnest(ARRAY['true_negative', 'false_positive', 'false_negative', 'true_positive', 'accuracy', 'precision',
        'recall', 'f1', 'balanced_accuracy', 'auc']) WITH ORDINALITY AS m (measure, place) ORDER BY m.place
$$;
