-- Weights by name, or those of the trained model
-- Checks all names of {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}. Without beta these are the
-- weights of the newest version of the model, with its replacements of NULL. {"other": {"carrier": 0.1}} is for all categories
-- of a feature that are not named.
CREATE OR REPLACE FUNCTION sqlsvm._given_weights(program sqlsvm.programs, beta jsonb)
RETURNS jsonb LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    form text := 'Write {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}.';
    features text[] := ARRAY(
        SELECT DISTINCT c ->> 'feature' FROM jsonb_array_elements(
            program.description -> 'coordinates' || (program.description -> 'dictionaries')) AS c WHERE c ->> 'feature' <> '');
    odd text;
    wrong record;
BEGIN
    IF beta IS NULL THEN
        RETURN sqlsvm._newest_weights(program.name);
    ELSIF jsonb_typeof(beta) <> 'object' OR jsonb_typeof(coalesce(beta -> 'weights', '{}')) <> 'object'
        OR jsonb_typeof(coalesce(beta -> 'other', '{}')) <> 'object' THEN
        RAISE EXCEPTION 'beta is not an object of weights by name' USING ERRCODE = 'SV003', HINT = form;
    END IF;
    odd := (SELECT min(k) FROM jsonb_object_keys(beta) AS k WHERE k NOT IN ('intercept', 'weights', 'other'));
    IF odd IS NOT NULL THEN
        RAISE EXCEPTION 'beta has a "%", which is neither the intercept nor the weights', odd
            USING ERRCODE = 'SV003', HINT = form;
    END IF;
    odd := (SELECT min(k) FROM jsonb_object_keys(coalesce(beta -> 'weights', '{}') || coalesce(beta -> 'other', '{}')) AS k
        WHERE k <> ALL (features));
    IF odd IS NOT NULL THEN
        RAISE EXCEPTION 'beta has a weight for "%", which is not a feature', odd USING ERRCODE = 'SV003',
            HINT = format('The features are %s.', array_to_string(features, ', '));
    END IF;
    IF coalesce((beta ->> 'intercept') <> '0', false) AND NOT program.description @> '{"coordinates": [{"role": "intercept"}]}' THEN
        RAISE EXCEPTION 'beta has an intercept, which the features do not' USING ERRCODE = 'SV003', HINT = 'Leave it out.';
    END IF;
    SELECT g.feature, g.weight, g.categorical INTO wrong FROM (
        SELECT 'intercept' AS feature, beta -> 'intercept' AS weight, false AS categorical WHERE beta ? 'intercept'
        UNION ALL
        SELECT w.key, w.value, program.description @> jsonb_build_object('dictionaries', jsonb_build_array(jsonb_build_object('feature', w.key)))
        FROM jsonb_each(beta -> 'weights') AS w
        UNION ALL
        SELECT o.key, o.value, false FROM jsonb_each(beta -> 'other') AS o) AS g
    WHERE CASE WHEN g.categorical THEN g.weight @? '$ ? (@.type() != "object" || exists(@.* ? (@.type() != "number")))'
        ELSE jsonb_typeof(g.weight) <> 'number' END LIMIT 1;
    IF wrong.categorical THEN
        RAISE EXCEPTION 'the weights of the categorical feature "%" are not an object of numbers', wrong.feature
            USING ERRCODE = 'SV003', HINT = format('Write {"%s": {"VALUE": 0.1}}.', wrong.feature);
    ELSIF found THEN
        RAISE EXCEPTION 'the weight of "%" is not a number: %', wrong.feature, wrong.weight USING ERRCODE = 'SV003',
            HINT = format('Write {"%s": 0.1}.', wrong.feature);
    END IF;
    RETURN beta;
END $$;
