-- The value of a loss of pieces: value + slope d + bend d^2 / 2 from each place on, and the first piece also before it
CREATE OR REPLACE FUNCTION sqlsvm._psi(pieces jsonb, z float8)
RETURNS float8 LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT (e.piece ->> 'value')::float8 + ((e.piece ->> 'slope')::float8 + (e.piece ->> 'bend')::float8 * d.d / 2) * d.d
    FROM jsonb_array_elements(pieces) WITH ORDINALITY AS e (piece, n), LATERAL (SELECT z - (e.piece ->> 'at')::float8 AS d) AS d
    WHERE d.d > 0 OR e.n = 1 ORDER BY e.n DESC LIMIT 1
$$;
