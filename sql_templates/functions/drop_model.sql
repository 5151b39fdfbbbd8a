-- Deletes a version of a model, or without a version everything of that name, also its program and unfinished training; returns the deleted versions
CREATE OR REPLACE FUNCTION sqlsvm.drop_model(model text, version integer DEFAULT NULL)
RETURNS integer[] LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    dropped integer[];
    had_more boolean := false;
BEGIN
    PERFORM sqlsvm._require('trainer');
    IF version IS NULL THEN
        DELETE FROM sqlsvm.programs AS p WHERE p.name = model;  -- this waits for the end of a training of the program
        IF found THEN
            had_more := true;
            RAISE NOTICE 'dropped the program of "%"', model;
        END IF;
        DELETE FROM sqlsvm.states AS s WHERE s.name = model;
        IF found THEN
            had_more := true;
            RAISE NOTICE 'dropped the unfinished training of "%"', model;
        END IF;
    END IF;
    DELETE FROM sqlsvm.iterations AS i
    WHERE i.name = model AND (drop_model.version IS NULL OR i.version = drop_model.version);
    WITH gone AS (
        DELETE FROM sqlsvm.versions AS v
        WHERE v.name = model AND (drop_model.version IS NULL OR v.version = drop_model.version)
        RETURNING v.version
    )
    SELECT array_agg(g.version ORDER BY g.version) INTO dropped FROM gone AS g;
    IF dropped IS NULL AND NOT had_more THEN
        PERFORM sqlsvm._unknown(model, version);
    END IF;
    DELETE FROM sqlsvm.models AS m
    WHERE m.name = model AND NOT EXISTS (SELECT FROM sqlsvm.versions AS v WHERE v.name = model);
    RETURN coalesce(dropped, '{}');
END $$;
