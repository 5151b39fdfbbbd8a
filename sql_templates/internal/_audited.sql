-- run/auditing.py has the same. The working tables of an audit have the names of those of a training, which are made again after it.
CREATE OR REPLACE FUNCTION sqlsvm._audited(p sqlsvm._problem)
RETURNS sqlsvm._problem
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given sqlsvm._given := sqlsvm._arguments(p);
    audited CONSTANT jsonb := p.design -> 'audited';
    found jsonb := '{}';
    moments jsonb;
    sums jsonb;
    n float8;
    total float8;
    item jsonb;
BEGIN
    PERFORM sqlsvm._drop('prepare');
    PERFORM sqlsvm._run('audit tables', given);
    moments := sqlsvm._run('audit moments', given);
    PERFORM sqlsvm._drop('audit moments');
    n := moments -> (audited ->> 'sizes') -> 0 ->> 'n';
    FOR item IN SELECT i FROM jsonb_array_elements(audited -> 'columns') AS i LOOP
        sums := moments -> (item ->> 'moments') -> 0;
        total := sums ->> (item ->> 'total');
        IF total IN ('NaN', 'Infinity', '-Infinity') THEN
            RAISE EXCEPTION '% is NaN or infinite in some rows of the join', item ->> 'column' USING ERRCODE = 'SV004',
                HINT = 'Leave those rows out in the query, and compile it again: sqlsvm compile --name ...';
        END IF;
        given.shift := total / n;
        sums := sqlsvm._run(item ->> 'part', given);
        PERFORM sqlsvm._drop(item ->> 'part');
        found := found || jsonb_build_object(item ->> 'column', (
            SELECT jsonb_agg(coalesce(s.total, 0) / n ORDER BY place)
            FROM generate_series(1, p.size) AS place LEFT JOIN (
                SELECT (a ->> 'place')::bigint AS at, (sums -> (a ->> 'name') -> 0 ->> (a ->> 'column'))::float8 AS total
                FROM jsonb_array_elements(item -> 'answers') AS a
                UNION ALL
                SELECT r.n - (audited ->> 'fewer')::bigint, r.total
                FROM jsonb_array_elements_text(item -> 'categories') AS c, jsonb_to_recordset(sums -> c) AS r (n bigint, total float8)
            ) AS s ON s.at = place));
    END LOOP;
    PERFORM sqlsvm._drop('audit tables');
    PERFORM sqlsvm._run('prepare', sqlsvm._arguments(p));
    p.design := p.design || jsonb_build_object('covariances', found);
    RETURN p;
END
$$;

COMMENT ON FUNCTION sqlsvm._audited(sqlsvm._problem) IS 'Measures the covariances of the columns that scores must not go with';
