-- The probability at a score, by the sigmoid or the curve that is stored with a model
-- `p` is that of the model, or of one of its classes.
CREATE OR REPLACE FUNCTION sqlsvm._probability(body jsonb, p jsonb, score double precision)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF p IS NULL OR p = 'null' THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV003',
            MESSAGE = format('model "%s" has no probability', body ->> 'model'),
            HINT = 'Fit one to rows held out: sqlsvm train --probability sigmoid --holdout 0.2';
    ELSIF (p @@ '($.method == "sigmoid" && $.slope.type() == "number" && $.offset.type() == "number")
            || ($.method == "isotonic" && $.scores.size() == $.shares.size() && exists($.shares[0])
                && !exists($.scores[*] ? (@.type() != "number")) && !exists($.shares[*] ? (@.type() != "number")))') IS NOT TRUE
    THEN
        RAISE EXCEPTION USING
            ERRCODE = 'SV008',
            MESSAGE = format('model "%s", version %s: probability: neither a sigmoid nor a curve', body ->> 'model', body ->> 'version'),
            HINT = format('Restore it, or train it again, or delete it: SELECT sqlsvm.drop_model(%L, %s);', body ->> 'model', body ->> 'version');
    ELSIF score IS NULL THEN
        RETURN NULL;
    ELSIF p ->> 'method' = 'sigmoid' THEN
        RETURN 1::float8 / (1::float8 + exp(least(greatest(
            (p ->> 'slope')::float8 * score + (p ->> 'offset')::float8, -700::float8), 700::float8)));
    END IF;
    RETURN (
        WITH points AS MATERIALIZED (
            SELECT x::text::float8 AS x, y::text::float8 AS y
            FROM ROWS FROM (jsonb_array_elements(p -> 'scores'), jsonb_array_elements(p -> 'shares')) AS r (x, y)
        )
        SELECT CASE WHEN l.x IS NULL THEN r.y WHEN r.x IS NULL OR l.x = r.x THEN l.y
            ELSE l.y + (r.y - l.y) / (r.x - l.x) * (score - l.x) END
        FROM (SELECT * FROM points WHERE x <= score ORDER BY x DESC LIMIT 1) AS l
        FULL JOIN (SELECT * FROM points WHERE x >= score ORDER BY x LIMIT 1) AS r ON true
    );
END
$$;
