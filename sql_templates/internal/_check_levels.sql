-- Refuses an epsilon with too many levels
-- All counts up to 1/epsilon are levels; above, levels grow by a factor of 1 + epsilon.
CREATE OR REPLACE FUNCTION sqlsvm._check_levels(epsilon float8, rows float8)
RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM sqlsvm._check_option('epsilon', epsilon, 0, false, 'epsilon => 0.1');
    IF least(rows, (1 + ln(greatest(1, epsilon * rows))) / epsilon) > 1e6 THEN
        RAISE EXCEPTION 'an epsilon of % makes more than 1,000,000 levels of % rows', epsilon, rows
            USING ERRCODE = 'SV003', HINT = 'Take a larger one: epsilon => 0.1.';
    END IF;
END $$;
