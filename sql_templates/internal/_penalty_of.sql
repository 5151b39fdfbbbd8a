-- The value of the penalty at beta
CREATE OR REPLACE FUNCTION sqlsvm._penalty_of(penalty sqlsvm._penalty, beta float8[])
RETURNS float8 LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT penalty.lambda * (sqlsvm._dot(beta, beta) - coalesce(beta[penalty.intercept] ^ 2, 0))
        + (SELECT sum(e.l1 * abs(e.b)) FROM unnest(penalty.l1, beta) AS e (l1, b))
$$;
