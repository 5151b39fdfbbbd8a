-- Is the label, or is a number, so far from 0 that scores are measured from there? `is_far` in run/rounding.py is the same
CREATE OR REPLACE FUNCTION sqlsvm._is_far(p sqlsvm._problem)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p.constant IS NOT NULL AND (EXISTS (SELECT FROM unnest(p.features) AS f WHERE f.origin <> 0)
        OR abs((p.design ->> 'label_centre')::float8) > CASE WHEN p.design #>> '{loss,origin}' IS NULL THEN 1e3 * p.origin ELSE 0 END)
$$;
