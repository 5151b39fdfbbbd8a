-- An intercept is given on the label, and here it is less the centre of the label. A weight that is not given is 0, also that of an unknown category, unless a weight of all others is given. A category is matched
-- by value, however it is spelled; a real also as the double that the driver reads. Old weights may be of categories that are gone.
CREATE OR REPLACE FUNCTION sqlsvm._theta(p sqlsvm._problem, given jsonb)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    theta float8[] := array_fill(0::float8, ARRAY[p.size]);
    c jsonb;
    w float8;
    term integer;
    type name;
    chosen jsonb;
    places integer[];
    weights float8[];
    odd text;
    keys text;
BEGIN
    FOR j IN 1 .. cardinality(p.kept) LOOP
        c := p.design -> 'coordinates' -> (p.kept[j] - 1);
        w := coalesce((CASE WHEN c ->> 'role' = 'intercept' THEN given ->> 'intercept'
            ELSE given -> 'weights' ->> (c ->> 'feature') END)::float8, 0);
        IF c ->> 'role' = 'intercept' THEN
            w := w - coalesce(given ->> 'centre', p.design ->> 'label_centre')::float8;
        END IF;
        theta[p.kept[j]] := w;
        FOREACH term IN ARRAY sqlsvm._ties(p.design, p.kept[j]) LOOP
            theta[term] := w;
        END LOOP;
        IF p.missing[j] IS NOT NULL THEN
            theta[p.missing[j]] := w * coalesce((given -> 'missing' ->> (c ->> 'feature'))::float8, p.mean[j]);
        END IF;
    END LOOP;
    FOR c IN SELECT d FROM jsonb_array_elements(p.design -> 'dictionaries') AS d LOOP
        type := sqlsvm._category_type(c);
        chosen := given -> 'weights' -> (c ->> 'feature');
        IF jsonb_typeof(chosen) = 'object' THEN
            chosen := (SELECT jsonb_object_agg(sqlsvm._category_key(g.key, type), g.value) FROM jsonb_each(chosen) AS g);
        END IF;
        keys := format('SELECT d.n, sqlsvm._category_key(d.v::text, $2) AS written, sqlsvm._category_key(d.v%s::text, $2) AS read
            FROM pg_temp.%I AS d', CASE WHEN type = 'float4' THEN '::float8' END, c ->> 'table');
        EXECUTE format('SELECT array_agg(k.n), array_agg(coalesce($1 ->> k.written, $1 ->> k.read, $3, ''0'')::float8)
            FROM (%s) AS k', keys) INTO places, weights USING chosen, type, given -> 'other' ->> (c ->> 'feature');
        EXECUTE format('WITH k AS (%s) SELECT min(g.name) FROM jsonb_object_keys($1) AS g (name)
            WHERE EXISTS (SELECT FROM k WHERE k.written IS NULL)
                AND NOT EXISTS (SELECT FROM k WHERE rtrim(g.name, '' '') IN (rtrim(k.written, '' ''), rtrim(k.read, '' '')))', keys)
        INTO odd USING CASE WHEN jsonb_typeof(chosen) = 'object' THEN chosen ELSE '{}' END, type;
        IF odd IS NOT NULL AND given -> 'old' IS NULL THEN
            RAISE EXCEPTION 'there is a weight for the category "%" of "%", which is none of its most frequent ones now',
                odd, c ->> 'feature' USING ERRCODE = 'SV004', HINT = 'Train the program again, or compile it without --top.';
        END IF;
        FOR i IN 1 .. coalesce(cardinality(places), 0) LOOP
            theta[places[i]] := weights[i];
        END LOOP;
    END LOOP;
    RETURN theta;
END
$$;

COMMENT ON FUNCTION sqlsvm._theta(sqlsvm._problem, jsonb) IS 'Weights by name as a vector over raw coordinates';
