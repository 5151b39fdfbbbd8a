-- Validated options of a training: those of the program, except for those that are given now
CREATE OR REPLACE FUNCTION sqlsvm._wanted(
    program sqlsvm.programs, lambda float8, tol float8, max_passes integer, solver text)
RETURNS jsonb LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    effort jsonb := program.options -> 'effort' || jsonb_strip_nulls(jsonb_build_object(
        'tol', tol, 'max_passes', max_passes));
    wanted jsonb := program.options || jsonb_build_object('effort', effort) || jsonb_strip_nulls(jsonb_build_object(
        'lam', lambda, 'solver', solver));
BEGIN
    PERFORM sqlsvm._check_option('lambda', (wanted ->> 'lam')::float8, 0, false, 'lambda => 1e-4');
    PERFORM sqlsvm._check_option('tol', (effort ->> 'tol')::float8, 0, true, 'tol => 1e-3');
    PERFORM sqlsvm._check_option('max_passes', (effort ->> 'max_passes')::float8, 1, true, 'max_passes => 50');
    IF wanted ->> 'solver' NOT IN ('dane', 'bundle') THEN
        RAISE EXCEPTION 'there is no solver "%" here', wanted ->> 'solver' USING ERRCODE = 'SV003',
            HINT = 'Write solver => ''dane'' or solver => ''bundle''.';
    END IF;
    RETURN wanted;
END $$;
