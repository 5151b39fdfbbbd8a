-- The lower triangle, row by row, of (1 / (2 width K)) sum x x' over the rows near the hinge, + 2 lambda on the diagonal.
-- In blocks, for PostgreSQL compares each aggregate of a statement with every other.
CREATE OR REPLACE FUNCTION sqlsvm._local_hessian(rows float8, beta float8[], width float8, lambda float8)
RETURNS float8[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    d integer := cardinality(beta);
    block integer := greatest(1, 400 / d);
    found float8[] := '{}';
    part float8[];
BEGIN
    FOR top IN 1 .. d BY block LOOP
        EXECUTE format(
            'SELECT ARRAY[%s] FROM (SELECT * FROM pg_temp.sqlsvm_local WHERE abs(1 - (%s)) < $2 OFFSET 0) AS a',
            (SELECT string_agg(format('coalesce(sum(z%s * z%s), 0) / $3', i, j)
                    || CASE WHEN i = j THEN ' + $4' ELSE '' END, ', ' ORDER BY i, j)
                FROM generate_series(top, least(top + block - 1, d)) AS i, generate_series(1, i) AS j),
            sqlsvm._local_score(d))
        INTO part USING beta, width, 2 * width * rows, 2 * lambda;
        found := found || part;
    END LOOP;
    RETURN found;
END
$$;

COMMENT ON FUNCTION sqlsvm._local_hessian(float8, float8[], float8, float8) IS 'The curvature of the smoothed sample';
