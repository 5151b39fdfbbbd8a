CREATE OR REPLACE FUNCTION sqlsvm._trained_on(p sqlsvm._problem, program sqlsvm.programs)
RETURNS jsonb
LANGUAGE sql VOLATILE
AS $$
    SELECT jsonb_build_object(
        'fingerprint', left(encode(sha256(convert_to(program.query, 'UTF8')), 'hex'), 16),
        'rows', (SELECT jsonb_object_agg(a.key, a.value -> 0 -> 'n')
            FROM jsonb_each(sqlsvm._run('relations', sqlsvm._arguments(p))) AS a),
        'booleans', p.design -> 'booleans',
        'caseless', (SELECT coalesce(jsonb_agg(d ->> 'feature'), '[]') FROM jsonb_array_elements(p.design -> 'dictionaries') AS d
            WHERE sqlsvm._category_type(d) = 'citext'),
        'label_values', p.design -> 'label_values',
        'database', 'postgresql:///' || current_database(),
        'versions', p.design -> 'versions')
$$;

COMMENT ON FUNCTION sqlsvm._trained_on(sqlsvm._problem, sqlsvm.programs) IS 'What a model was trained on';
