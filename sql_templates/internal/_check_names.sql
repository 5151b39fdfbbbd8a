-- Refuses names that mean something else than when the program was compiled
-- Names were looked up when the program was compiled. In another database, as after a restore, their numbers are others.
CREATE OR REPLACE FUNCTION sqlsvm._check_names(program sqlsvm.programs)
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now CONSTANT jsonb := sqlsvm._run('names') -> 'names';
    other record;
BEGIN
    SELECT t.value ->> 'schema' AS schema, t.value ->> 'name' AS name, t.value ->> 'kind' AS kind, s.said[1] AS before, s.said[2] AS after
    INTO other
    FROM jsonb_array_elements(program.description #> '{trained_on,names}') AS t
    LEFT JOIN jsonb_array_elements(now) AS n ON (n.value ->> 'kind', n.value ->> 'schema', n.value ->> 'name')
        = (t.value ->> 'kind', t.value ->> 'schema', t.value ->> 'name')
    CROSS JOIN LATERAL (SELECT array_agg(CASE WHEN m.value ->> 'oids' > '' THEN
        format('%s %s of the role "%s"', m.value ->> 'kind', m.value ->> 'oids', m.value ->> 'owner') ELSE 'nothing' END ORDER BY m.n)
        FROM unnest(ARRAY[t.value, n.value]) WITH ORDINALITY AS m (value, n)) AS s (said)
    WHERE t.value -> 'oids' IS DISTINCT FROM n.value -> 'oids'
    ORDER BY t.value ->> 'kind' <> 'database' LIMIT 1;
    IF found AND other.kind <> 'database' THEN
        RAISE EXCEPTION '%.% is another % than the program "%" was compiled for', other.schema, other.name, other.kind, program.name
            USING ERRCODE = 'SV004', DETAIL = format('It was %s, and is %s.', other.before, other.after),
                HINT = format('If that is right, compile it again: sqlsvm compile --name %L --label %L --query ...',
                    program.name, program.label);
    END IF;
END $$;
