-- Makes the working tables of a problem and counts N, N- and the moments of every coordinate
CREATE OR REPLACE FUNCTION sqlsvm._counted(p sqlsvm._problem)
RETURNS sqlsvm._problem LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    given sqlsvm._given := sqlsvm._arguments(p);
    answers jsonb;
    sizes jsonb;
BEGIN
    PERFORM sqlsvm._run('prepare', given);
    answers := sqlsvm._run('checks', given);
    PERFORM sqlsvm._check_plan(p, answers);
    p.rows := (SELECT jsonb_object_agg(substr(a.key, 3), a.value -> 0 -> 'rows') FROM jsonb_each(answers) AS a WHERE a.key LIKE '0 %');
    answers := sqlsvm._run('moments', given);
    PERFORM sqlsvm._drop('moments');
    sizes := answers -> ('moments ' || (p.design ->> 'label_node')) -> 0;
    p.n := sizes ->> 'n';
    p.n_negative := sizes ->> 'n_negative';
    p.label_total := sizes ->> 'label';
    p.origin := coalesce(abs((p.design -> 'loss' ->> 'origin')::float8), sqrt((sizes ->> 'label_squares')::float8 / nullif(p.n, 0)));
    p.unit := CASE WHEN (p.design ->> 'numeric')::boolean THEN coalesce(nullif(p.origin, 0), 1) ELSE 1 END;
    SELECT array_agg(m.dictionary ORDER BY m.place), array_agg(m.total ORDER BY m.place), array_agg(m.squares ORDER BY m.place),
        array_agg(m.largest ORDER BY m.place), array_agg(m.negative ORDER BY m.place)
    INTO p.dictionary, p.total, p.squares, p.largest, p.negative
    FROM (  -- a row for each place in theta, also for a category that no row of the join has
        SELECT i.at + 1 AS place, NULL::integer AS dictionary,
            (c.sums ->> ('total' || i.at))::float8 AS total, (c.sums ->> ('squares' || i.at))::float8 AS squares,
            (c.sums ->> ('largest' || i.at))::float8 AS largest, (c.sums ->> ('negative' || i.at))::float8 AS negative
        FROM (SELECT (i ->> 'place')::integer - 1 AS at FROM jsonb_array_elements(p.design -> 'coordinates') AS i) AS i,
            (SELECT jsonb_object_agg(c.key, c.value) AS sums FROM jsonb_each(answers) AS a, jsonb_each(a.value -> 0) AS c) AS c
        UNION ALL
        SELECT k.n, k.number, coalesce(r.total, 0), coalesce(r.total, 0), 1, coalesce(r.negative, 0)
        FROM (SELECT c.n, (d ->> 'number')::integer AS number
            FROM jsonb_array_elements(p.design -> 'dictionaries') AS d, sqlsvm._categories(d) AS c) AS k
        LEFT JOIN (SELECT r.* FROM jsonb_array_elements(p.design -> 'dictionaries') AS d, jsonb_to_recordset(
            answers -> ('category moments ' || (d ->> 'number'))) AS r (n integer, total float8, negative float8)) AS r ON r.n = k.n
    ) AS m;
    p.size := coalesce(cardinality(p.total), 0);
    PERFORM sqlsvm._check_moments(p, (sizes ->> 'n_unlabelled')::float8);
    p := sqlsvm._with_constants(p, given);
    RETURN CASE WHEN p.design ? 'products' THEN sqlsvm._with_products(p, given) ELSE p END;
END $$;
