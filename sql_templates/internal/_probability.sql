CREATE OR REPLACE FUNCTION sqlsvm._probability(p jsonb, score double precision)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p ->> 'method' = 'sigmoid' THEN
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

COMMENT ON FUNCTION sqlsvm._probability(jsonb, double precision) IS
    'The probability at a score, by the sigmoid or the curve that is stored with a model';
