CREATE OR REPLACE FUNCTION sqlsvm._trained_on(p sqlsvm._problem)
RETURNS jsonb
LANGUAGE sql VOLATILE
AS $$
    SELECT p.design -> 'trained_on' || jsonb_build_object(
        'rows', (SELECT jsonb_object_agg(a.key, a.value -> 0 -> 'n')
            FROM jsonb_each(sqlsvm._run('relations', sqlsvm._arguments(p))) AS a),
        'database', 'postgresql:///' || current_database())
$$;

COMMENT ON FUNCTION sqlsvm._trained_on(sqlsvm._problem) IS 'What a model was trained on';
