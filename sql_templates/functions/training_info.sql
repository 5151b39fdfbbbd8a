CREATE OR REPLACE FUNCTION sqlsvm.training_info(model text, version integer DEFAULT NULL)
RETURNS TABLE (
    pass integer, objective double precision, objective_upper double precision, lower_bound double precision,
    gap double precision, buckets integer, seconds double precision
)
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH stored AS MATERIALIZED (SELECT sqlsvm._body(training_info.model, training_info.version) ->> 'version' AS version)
    SELECT i.pass, i.objective, i.objective_upper, i.lower_bound, i.gap, i.buckets, i.seconds
    FROM stored AS s JOIN sqlsvm.iterations AS i
        ON i.name = training_info.model AND i.version = s.version::integer
    ORDER BY i.pass
$$;

COMMENT ON FUNCTION sqlsvm.training_info(text, integer) IS 'The certificate of a model after each pass of its training';
