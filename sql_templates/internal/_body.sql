CREATE OR REPLACE FUNCTION sqlsvm._body(model text, version integer)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    found jsonb;
BEGIN
    PERFORM sqlsvm._require('reader');
    SELECT v.body::jsonb INTO found
    FROM sqlsvm.versions AS v
    WHERE v.name = model AND (_body.version IS NULL OR v.version = _body.version)
    ORDER BY v.version DESC
    LIMIT 1;
    IF found IS NULL THEN
        PERFORM sqlsvm._unknown(model, version);
    END IF;
    RETURN found;
END
$$;

COMMENT ON FUNCTION sqlsvm._body(text, integer) IS
    'The stored JSON of a version of a model; the newest version if version is NULL';
