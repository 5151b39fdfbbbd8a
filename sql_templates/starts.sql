-- The programs of an older sqlsvm have no start, and sample the join themselves. Their statements are removed: such a program has
-- to be compiled again.
DO $$
DECLARE
    path CONSTANT text := pg_catalog.current_setting('search_path');
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = 'sqlsvm.programs'::pg_catalog.regclass AND a.attname = 'start' AND NOT a.attisdropped)
    THEN
        DELETE FROM sqlsvm.statements;
        ALTER TABLE sqlsvm.programs ADD COLUMN start jsonb, DROP COLUMN IF EXISTS search_path;
        COMMENT ON COLUMN sqlsvm.programs.start IS 'The optimum of a sample of the join when it was compiled, and the curvature there';
    END IF;
    PERFORM pg_catalog.set_config('search_path', path, true);
END
$$;
