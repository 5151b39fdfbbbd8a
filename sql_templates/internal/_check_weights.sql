CREATE OR REPLACE FUNCTION sqlsvm._check_weights(program sqlsvm.programs, beta jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c record;
BEGIN
    IF coalesce((beta ->> 'intercept') <> '0', false) AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(program.description -> 'coordinates') AS i WHERE i ->> 'role' = 'intercept') THEN
        RAISE EXCEPTION 'beta has an intercept, which the features do not' USING ERRCODE = 'SV003', HINT = 'Leave it out.';
    END IF;
    FOR c IN
        SELECT 'intercept' AS feature, beta -> 'intercept' AS weight, false AS categorical WHERE beta ? 'intercept'
        UNION ALL
        SELECT w.key, w.value, EXISTS (SELECT FROM jsonb_array_elements(program.description -> 'dictionaries') AS d
            WHERE d ->> 'feature' = w.key)
        FROM jsonb_each(beta -> 'weights') AS w
        UNION ALL
        SELECT o.key, o.value, false FROM jsonb_each(beta -> 'other') AS o
    LOOP
        IF c.categorical AND (jsonb_typeof(c.weight) <> 'object' OR EXISTS (
            SELECT FROM jsonb_each(c.weight) AS v WHERE jsonb_typeof(v.value) <> 'number')) THEN
            RAISE EXCEPTION 'the weights of the categorical feature "%" are not an object of numbers', c.feature
                USING ERRCODE = 'SV003', HINT = format('Write {"%s": {"VALUE": 0.1}}.', c.feature);
        ELSIF NOT c.categorical AND jsonb_typeof(c.weight) <> 'number' THEN
            RAISE EXCEPTION 'the weight of "%" is not a number: %', c.feature, c.weight USING ERRCODE = 'SV003',
                HINT = format('Write {"%s": 0.1}.', c.feature);
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION sqlsvm._check_weights(sqlsvm.programs, jsonb) IS 'Refuses weights of a wrong form';
