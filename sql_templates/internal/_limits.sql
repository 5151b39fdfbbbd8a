-- The rows of --constrain, coefficients.theta + shift >= 0 on the user's columns: `_Rows` in plan/constraints.py. A row for one weight
-- has the place of that in beta, and its coefficient there.
CREATE OR REPLACE FUNCTION sqlsvm._limits(p sqlsvm._problem, constrain jsonb)
RETURNS TABLE (name text, at integer, coefficient float8, slope float8[], shift float8)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    item text;
    kind text;
    rest text;
    ends text[];
    row_ jsonb;
    theta float8[];
    number integer;
BEGIN
    CREATE TEMPORARY TABLE sqlsvm_weights AS
    SELECT f.place, f.raw, f.feature, f.category, coalesce(p.features[f.place].scale, 1) AS scale, f.feature || coalesce(' = ' || f.category, '') AS said
    FROM sqlsvm._features(p) AS f WHERE f.feature <> '';
    FOR item IN SELECT c FROM jsonb_array_elements_text(constrain) AS c LOOP
        kind := split_part(item, ':', 1);
        rest := substr(item, length(kind) + 2);
        IF kind IN ('increasing', 'decreasing') AND EXISTS (SELECT FROM pg_temp.sqlsvm_weights AS f WHERE f.feature = rest AND f.category IS NOT NULL) THEN
            RETURN QUERY
                SELECT format('%s %s %s', b.said, CASE kind WHEN 'increasing' THEN '>=' ELSE '<=' END, a.said), NULL::integer, NULL::float8,
                    ARRAY(SELECT (CASE kind WHEN 'increasing' THEN 1 ELSE -1 END * CASE j WHEN b.place THEN 1 WHEN a.place THEN -1 ELSE 0 END)::float8
                        FROM generate_series(1, p.dimension) AS j ORDER BY j), 0::float8
                FROM (SELECT f.place, f.said, lead(f.place) OVER (ORDER BY f.place) AS next FROM pg_temp.sqlsvm_weights AS f WHERE f.feature = rest) AS a
                JOIN pg_temp.sqlsvm_weights AS b ON b.place = a.next ORDER BY a.place;
        ELSIF kind IN ('nonnegative', 'increasing', 'decreasing', 'box') THEN
            ends := CASE kind WHEN 'box' THEN regexp_split_to_array(rest, ':') ELSE NULL END;
            IF kind = 'box' THEN
                rest := array_to_string(ends[: cardinality(ends) - 2], ':');
                ends := ends[cardinality(ends) - 1 :];
            ELSE
                ends := CASE kind WHEN 'decreasing' THEN ARRAY['', '0'] ELSE ARRAY['0', ''] END;
            END IF;
            RETURN QUERY
                SELECT format('%s %s %s', f.said, e.sign, e.ending), f.place, e.way * f.scale, NULL::float8[], -e.way * e.ending::float8
                FROM pg_temp.sqlsvm_weights AS f, (VALUES (1, '>=', ends[1]), (-1, '<=', ends[2])) AS e (way, sign, ending)
                WHERE (kind = 'nonnegative' OR f.feature = rest) AND e.ending <> '' ORDER BY f.place, e.way DESC;
        ELSIF kind = 'fair' THEN
            ends := regexp_match(rest, '^(.*):(.*)$');
            theta := ARRAY(SELECT c.c::float8 FROM jsonb_array_elements_text(p.design -> 'covariances' -> ends[1]) WITH ORDINALITY AS c (c, i) ORDER BY c.i);
            -- Of numbers less their origins: where one is missing it is 0, and was less than its origin.
            theta := sqlsvm._from_raw(p, ARRAY(SELECT t.x + coalesce(f.origin * theta[f.missing], 0)
                FROM unnest(theta) WITH ORDINALITY AS t (x, i) LEFT JOIN unnest(p.features) AS f ON f.terms[1] = t.i ORDER BY t.i));
            RETURN QUERY
                SELECT format('covariance of %s and the score %s', ends[1], e.said), NULL::integer, NULL::float8,
                    sqlsvm._times(array_fill(e.way, ARRAY[p.dimension]), theta), ends[2]::float8
                FROM (VALUES ('<= ' || ends[2], -1::float8), ('>= -' || ends[2], 1)) AS e (said, way);
        ELSE
            number := 0;
            FOR row_ IN SELECT r FROM jsonb_array_elements(rest::jsonb) AS r LOOP
                number := number + 1;
                theta := sqlsvm._theta(p, row_ || '{"centre": 0, "old": true}');
                theta := ARRAY(SELECT CASE WHEN t.i > p.coordinates OR f.place IS NOT NULL THEN t.x - coalesce(theta[p.constant] * f.origin, 0) ELSE 0 END
                    FROM unnest(theta) WITH ORDINALITY AS t (x, i) LEFT JOIN unnest(p.features) AS f ON f.terms[1] = t.i ORDER BY t.i);
                RETURN QUERY
                    SELECT format('row %s of custom is %s %s', number, e.said, row_ ->> e.key), NULL::integer, NULL::float8,
                        sqlsvm._times(array_fill(e.way, ARRAY[p.dimension]), sqlsvm._from_raw(p, theta)),
                        e.way * (coalesce((row_ ->> 'intercept')::float8, 0) * (p.design ->> 'label_centre')::float8 - (row_ ->> e.key)::float8)
                    FROM (VALUES ('at_least', 'at least', 1::float8), ('at_most', 'at most', -1)) AS e (key, said, way) WHERE row_ ? e.key;
            END LOOP;
        END IF;
    END LOOP;
    DROP TABLE pg_temp.sqlsvm_weights;
END
$$;

COMMENT ON FUNCTION sqlsvm._limits(sqlsvm._problem, jsonb) IS 'The rows of --constrain, on scaled features';
