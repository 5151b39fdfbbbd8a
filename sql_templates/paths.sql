-- The statements of an older sqlsvm named tables without their schemas, and ran on a search_path that was stored with them.
-- They are removed: such a program has to be compiled again.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = pg_catalog.to_regclass('sqlsvm.programs') AND a.attname = 'search_path' AND NOT a.attisdropped)
    THEN
        DELETE FROM sqlsvm.statements;
        ALTER TABLE sqlsvm.programs DROP COLUMN search_path;
    END IF;
END
$$;
