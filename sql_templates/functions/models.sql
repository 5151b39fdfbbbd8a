-- The stored models: every version, the newest first, with its certificate. If rows have weights, join_rows is their total weight
CREATE OR REPLACE FUNCTION sqlsvm.models()
RETURNS TABLE (
    model text, version integer, created_at timestamptz, engine text, query text, label text, lambda double precision,
    solver text, counting text, join_rows double precision, passes integer, seconds double precision,
    objective double precision, objective_upper double precision, lower_bound double precision, gap double precision,
    converged boolean
) LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT sqlsvm._require('reader');
    SELECT v.name, v.version, v.created_at, v.engine, v.query, v.label, v.lam, v.solver, v.counting, v.join_rows, v.passes,
        v.seconds, v.objective, v.objective_upper, v.lower_bound, v.gap, v.converged
    FROM sqlsvm.versions AS v
    ORDER BY v.name COLLATE "C", v.version DESC
$$;
