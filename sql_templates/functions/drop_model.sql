CREATE OR REPLACE FUNCTION sqlsvm.drop_model(model text, version integer DEFAULT NULL)
RETURNS integer[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dropped integer[];
BEGIN
    PERFORM sqlsvm._require('trainer');
    DELETE FROM sqlsvm.iterations AS i
    WHERE i.name = model AND (drop_model.version IS NULL OR i.version = drop_model.version);
    WITH gone AS (
        DELETE FROM sqlsvm.versions AS v
        WHERE v.name = model AND (drop_model.version IS NULL OR v.version = drop_model.version)
        RETURNING v.version
    )
    SELECT array_agg(g.version ORDER BY g.version) INTO dropped FROM gone AS g;
    IF version IS NULL THEN
        DELETE FROM sqlsvm.states AS s WHERE s.name = model;
        DELETE FROM sqlsvm.programs AS p WHERE p.name = model;
        dropped := CASE WHEN found THEN coalesce(dropped, '{}') ELSE dropped END;
    END IF;
    IF dropped IS NULL THEN
        PERFORM sqlsvm._unknown(model, version);
    END IF;
    DELETE FROM sqlsvm.models AS m
    WHERE m.name = model AND NOT EXISTS (SELECT FROM sqlsvm.versions AS v WHERE v.name = model);
    RETURN dropped;
END
$$;

COMMENT ON FUNCTION sqlsvm.drop_model(text, integer) IS
    'Forgets a version of a model, or where none is given all of it, its program too; the versions that are gone';
