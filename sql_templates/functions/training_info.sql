-- The certificate of a model after each pass of its training
CREATE OR REPLACE FUNCTION sqlsvm.training_info(model text, version integer DEFAULT NULL)
RETURNS TABLE (
    pass integer, objective double precision, objective_upper double precision, lower_bound double precision,
    gap double precision, buckets integer, seconds double precision
) LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    -- OFFSET 0 keeps the model first in the join: without a pass to look at, an unknown one would not be an error.
    WITH stored AS MATERIALIZED (SELECT sqlsvm._body(training_info.model, training_info.version) ->> 'version' AS version)
    SELECT i.pass, i.objective, i.objective_upper, i.lower_bound, i.gap, i.buckets, i.seconds
    FROM stored AS s CROSS JOIN LATERAL (
        SELECT t.* FROM sqlsvm.iterations AS t JOIN sqlsvm.versions AS v USING (name, version)
        WHERE t.name = training_info.model AND t.version = s.version::integer AND t.owner IS NOT DISTINCT FROM v.owner
        OFFSET 0
    ) AS i
    ORDER BY i.pass
$$;
