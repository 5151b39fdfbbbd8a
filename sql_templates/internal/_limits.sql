-- The constraints of a program, as rows over the weights of scaled features
-- The driver says what each of --constrain asks (`limits` in plan/constraints.py): ends for weights, or an order for those of categories. A
-- row is way (scale weight - that of the other place - edge) >= 0.
CREATE OR REPLACE FUNCTION sqlsvm._limits(p sqlsvm._problem)
RETURNS TABLE (place bigint, name text, at integer, other integer, way float8, scale float8, edge float8)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH weights AS MATERIALIZED (
        SELECT l.n, l.item, f.place, f.category IS NOT NULL AND l.item ? 'way' AS in_order, f.feature || coalesce(' = ' || f.category, '') AS said,
            coalesce(p.features[f.place].scale, 1) AS scale
        FROM jsonb_array_elements(p.design -> 'limits') WITH ORDINALITY AS l (item, n)
        JOIN sqlsvm._features(p) AS f ON f.feature = coalesce(l.item ->> 'feature', nullif(f.feature, ''))
    ), ordered AS (
        SELECT w.n, w.said, w.place, (w.item ->> 'way')::float8 AS way, lag(w.place) OVER o AS other, lag(w.said) OVER o AS before
        FROM weights AS w WHERE w.in_order WINDOW o AS (PARTITION BY w.n ORDER BY w.place)
    )
    SELECT row_number() OVER (ORDER BY r.n, r.at, r.way DESC), r.name, r.at, r.other, r.way, r.scale, r.edge FROM (
        SELECT w.n, format('%s %s %s', w.said, e.sign, trim_scale(e.edge::numeric)), w.place, NULL, e.way, w.scale, e.edge::float8
        FROM weights AS w, LATERAL (VALUES (1::float8, '>=', w.item ->> 'low'), (-1, '<=', w.item ->> 'high')) AS e (way, sign, edge)
        WHERE NOT w.in_order AND e.edge IS NOT NULL
        UNION ALL
        SELECT o.n, format('%s %s %s', o.said, CASE WHEN o.way > 0 THEN '>=' ELSE '<=' END, o.before), o.place, o.other, o.way, 1, 0
        FROM ordered AS o WHERE o.other IS NOT NULL) AS r (n, name, at, other, way, scale, edge)
$$;
