-- Measures, each with its bounds
-- Each is a line, from the counts of a corner: it grows with the true positives and falls with the false ones or the other way, so its
-- bounds are at the worst and the best corner. AUC has bounds of its own.
CREATE OR REPLACE FUNCTION sqlsvm._measures(seen sqlsvm._seen)
RETURNS TABLE (measure text, found float8[])
LANGUAGE sql IMMUTABLE AS $$
    SELECT m.measure, ARRAY[min(m.value) FILTER (WHERE c.i = 1), min(m.value) FILTER (WHERE c.i > 1), max(m.value) FILTER (WHERE c.i > 1)]
    FROM (SELECT i, seen.true_positive[i] AS tp, seen.false_positive[CASE i WHEN 2 THEN 3 WHEN 3 THEN 2 ELSE 1 END] AS fp,
            seen.positives AS p, seen.negatives AS n
        FROM generate_series(1, 3) AS i) AS c,
        LATERAL (SELECT coalesce(tp / nullif(p, 0), 0) AS of_positives, coalesce((n - fp) / nullif(n, 0), 0) AS of_negatives) AS r,
        LATERAL (VALUES
            (1, 'true_negative', n - fp),
            (2, 'false_positive', fp),
            (3, 'false_negative', p - tp),
            (4, 'true_positive', tp),
            (5, 'accuracy', coalesce((tp + n - fp) / nullif(n + p, 0), 0)),
            (6, 'precision', coalesce(tp / nullif(tp + fp, 0), 0)),
            (7, 'recall', r.of_positives),
            (8, 'f1', coalesce(2 * tp / nullif(p + tp + fp, 0), 0)),
            (9, 'balanced_accuracy', coalesce((r.of_positives + r.of_negatives) / nullif((p > 0)::integer + (n > 0)::integer, 0), 0)),
            (10, 'auc', seen.auc[c.i])) AS m (place, measure, value)
    GROUP BY m.place, m.measure ORDER BY m.place
$$;
