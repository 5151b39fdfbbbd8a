-- Without class weights, which belong to the training. A row of weight w counts as w rows.
CREATE OR REPLACE FUNCTION sqlsvm._label_rows(p sqlsvm._problem)
RETURNS jsonb
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN p.design ->> 'weight' IS NULL
        THEN jsonb_build_object('-1', round(r.negative), '1', round(r.positive))
        ELSE jsonb_build_object('-1', r.negative, '1', r.positive) END
    FROM (SELECT p.n_negative / p.weight_negative AS negative, (p.n - p.n_negative) / p.weight_positive AS positive) AS r
$$;

COMMENT ON FUNCTION sqlsvm._label_rows(sqlsvm._problem) IS 'Join rows of each class';
