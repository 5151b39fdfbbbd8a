-- The JSON of a model with the weights of the group that the row is in; NULL for a row of no group
-- The group of a row is that of its value in the column that makes groups, compared as categories are.
CREATE OR REPLACE FUNCTION sqlsvm._of_group(body jsonb, features jsonb)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    spelling text;
    value jsonb;
BEGIN
    IF (body @@ '$.groups.size() > 0') IS NOT TRUE OR features IS NULL THEN
        RETURN body;
    END IF;
    value := sqlsvm._feature_value(features, body ->> 'by', body);
    spelling := CASE WHEN body #> '{trained_on,caseless}' ? (body ->> 'by') THEN 'caseless' ELSE 'exact' END;
    RETURN (SELECT body || o.part || '{"groups": []}'
        FROM jsonb_array_elements(body -> 'groups') WITH ORDINALITY AS o (part, n)
        WHERE o.part -> 'value' = value
            OR CASE spelling WHEN 'caseless' THEN lower(o.part ->> 'value') = lower(value #>> '{}')
                ELSE o.part ->> 'value' = value #>> '{}' OR rtrim(o.part ->> 'value', ' ') = rtrim(value #>> '{}', ' ')
                    AND coalesce(body #> '{trained_on,padded}' ? (body ->> 'by'), true) END
        ORDER BY o.part -> 'value' = value DESC, o.n
        LIMIT 1);
END
$$;
