CREATE OR REPLACE FUNCTION sqlsvm._check_weights(program sqlsvm.programs, beta jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c record;
BEGIN
    IF coalesce((beta ->> 'intercept') <> '0', false) AND NOT program.description @> '{"coordinates": [{"role": "intercept"}]}' THEN
        RAISE EXCEPTION 'beta has an intercept, which the features do not' USING ERRCODE = 'SV003', HINT = 'Leave it out.';
    END IF;
    SELECT g.feature, g.weight, g.categorical INTO c FROM (
        SELECT 'intercept' AS feature, beta -> 'intercept' AS weight, false AS categorical WHERE beta ? 'intercept'
        UNION ALL
        SELECT w.key, w.value, program.description @> jsonb_build_object('dictionaries', jsonb_build_array(jsonb_build_object('feature', w.key)))
        FROM jsonb_each(beta -> 'weights') AS w
        UNION ALL
        SELECT o.key, o.value, false FROM jsonb_each(beta -> 'other') AS o) AS g
    WHERE CASE WHEN g.categorical THEN g.weight @? '$ ? (@.type() != "object" || exists(@.* ? (@.type() != "number")))'
        ELSE jsonb_typeof(g.weight) <> 'number' END LIMIT 1;
    IF c.categorical THEN
        RAISE EXCEPTION 'the weights of the categorical feature "%" are not an object of numbers', c.feature
            USING ERRCODE = 'SV003', HINT = format('Write {"%s": {"VALUE": 0.1}}.', c.feature);
    ELSIF found THEN
        RAISE EXCEPTION 'the weight of "%" is not a number: %', c.feature, c.weight USING ERRCODE = 'SV003',
            HINT = format('Write {"%s": 0.1}.', c.feature);
    END IF;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_weights(sqlsvm.programs, jsonb) IS 'Refuses weights of a wrong form';
