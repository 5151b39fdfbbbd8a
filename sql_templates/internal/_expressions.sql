-- All expressions of a stored score
CREATE OR REPLACE FUNCTION sqlsvm._expressions(score text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object(
        'scores', (SELECT jsonb_agg(sqlsvm._expression(e.e #>> '{}') ORDER BY e.n) FROM jsonb_path_query(score::jsonb, '$.scores[*]') WITH ORDINALITY AS e (e, n)),
        'chances', (SELECT jsonb_agg(sqlsvm._expression(e.e #>> '{}') ORDER BY e.n) FROM jsonb_path_query(score::jsonb, '$.chances[*]') WITH ORDINALITY AS e (e, n)))
$$;
