-- Weights by name as a vector over raw coordinates
-- An intercept is given on the label and for numbers from 0 on. Here it is less the centre of the label, for numbers from their origins
-- on, unless a centre is given. A weight that is not given is 0, also that of an unknown category, unless a weight of all others is given.
-- A category is matched by value, however it is spelled; a real also as the double that the driver reads. Old weights may be of categories
-- that are gone.
CREATE OR REPLACE FUNCTION sqlsvm._theta(p sqlsvm._problem, given jsonb)
RETURNS float8[] LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    theta float8[] := array_fill(0::float8, ARRAY[p.size]);
    c jsonb;
    f sqlsvm._feature;
    w float8;
    term integer;
    type name;
    chosen jsonb;
    places integer[];
    weights float8[];
    odd text;
BEGIN
    FOREACH f IN ARRAY p.features LOOP
        w := coalesce((CASE f.name WHEN '' THEN given ->> 'intercept' ELSE given -> 'weights' ->> f.name END)::float8, 0);
        FOREACH term IN ARRAY f.terms LOOP
            theta[term] := w;
        END LOOP;
        IF f.missing IS NOT NULL THEN
            theta[f.missing] := w * coalesce((given -> 'missing' ->> f.name)::float8 - f.origin, f.mean);
        END IF;
    END LOOP;
    IF p.constant IS NOT NULL AND NOT given ? 'centre' THEN
        theta[p.constant] := theta[p.constant] - (p.design ->> 'label_centre')::float8 + sqlsvm._at_origins(p, theta, given -> 'origins');
    END IF;
    FOR c IN SELECT d FROM jsonb_array_elements(p.design -> 'dictionaries') AS d LOOP
        type := sqlsvm._category_type(c);
        chosen := given -> 'weights' -> (c ->> 'feature');
        IF jsonb_typeof(chosen) = 'object' THEN
            chosen := (SELECT jsonb_object_agg(sqlsvm._category_key(g.key, type), g.value) FROM jsonb_each(chosen) AS g);
        END IF;
        WITH k AS MATERIALIZED (
            SELECT e.n, sqlsvm._category_key(e.v, type) AS written,
                sqlsvm._category_key(CASE type WHEN 'float4' THEN e.v::float4::float8::text ELSE e.v END, type) AS read
            FROM sqlsvm._categories(c) AS e
        )
        SELECT array_agg(k.n), array_agg(coalesce(chosen ->> k.written, chosen ->> k.read, given -> 'other' ->> (c ->> 'feature'), '0')::float8),
            (SELECT min(g.name) FROM jsonb_object_keys(CASE jsonb_typeof(chosen) WHEN 'object' THEN chosen ELSE '{}' END) AS g (name)
                WHERE EXISTS (SELECT FROM k WHERE k.written IS NULL)
                    AND NOT EXISTS (SELECT FROM k WHERE rtrim(g.name, ' ') IN (rtrim(k.written, ' '), rtrim(k.read, ' '))))
        INTO places, weights, odd FROM k;
        IF odd IS NOT NULL AND given -> 'old' IS NULL THEN
            RAISE EXCEPTION 'there is a weight for the category "%" of "%", which is none of its most frequent ones now',
                odd, c ->> 'feature' USING ERRCODE = 'SV004', HINT = 'Train the program again, or compile it without --top.';
        END IF;
        FOR i IN 1 .. coalesce(cardinality(places), 0) LOOP
            theta[places[i]] := weights[i];
        END LOOP;
    END LOOP;
    RETURN theta;
END $$;
