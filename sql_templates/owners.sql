-- Each of these rows says who wrote it. What is in it runs only for those who trust that role, and a training rests only on
-- passes, and training_info shows only those, of a role that may say so. The check is made by
-- every INSERT, UPDATE and COPY: no role can write another name, or change a row and leave its name. A superuser can, because a
-- restore has to: it is a member of all roles, also of the first superuser, whose oid is 10. The setting is_superuser would be
-- that of the session: also while an ANALYZE of a superuser runs the functions of an index as the owner of its table.
-- NOT VALID leaves out the rows that are there, and lets pg_dump restore rows before the check.
DO $$
DECLARE
    path CONSTANT text := pg_catalog.current_setting('search_path');
    signed record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);  -- the caller's may have operators of others
    FOR signed IN
        SELECT c.relname AS name, r.rolname AS owner, EXISTS (
            SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'owner') AS has_owners, c.relacl IS NOT NULL OR EXISTS (
            SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL) OR EXISTS (
            SELECT FROM pg_catalog.pg_auth_members AS m WHERE m.roleid = 'pg_write_all_data'::regrole) AS shared
        FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_roles AS r ON r.oid = c.relowner
        WHERE n.nspname = 'sqlsvm' AND c.relname IN ('versions', 'iterations', 'states', 'programs', 'statements')
            AND pg_catalog.pg_has_role(c.relowner, 'USAGE') AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_constraint AS s WHERE s.conrelid = c.oid AND s.conname = c.relname || '_signed')
    LOOP
        -- The rows of an older sqlsvm are the table owner's if no other role could ever write them: a right that was taken back
        -- leaves a list of rights. Otherwise it is not known.
        IF NOT signed.has_owners THEN
            EXECUTE pg_catalog.format('ALTER TABLE sqlsvm.%I ADD COLUMN owner name', signed.name);
        END IF;
        IF NOT signed.has_owners AND NOT signed.shared THEN
            EXECUTE pg_catalog.format('UPDATE sqlsvm.%I SET owner = %L', signed.name, signed.owner);
        END IF;
        EXECUTE pg_catalog.format('ALTER TABLE sqlsvm.%1$I ALTER COLUMN owner SET DEFAULT CURRENT_USER,
            ADD CONSTRAINT %2$I CHECK (owner IS NOT NULL AND (
                owner = CURRENT_USER OR pg_catalog.pg_has_role(CURRENT_USER, 10::oid, ''MEMBER''))) NOT VALID',
            signed.name, signed.name || '_signed');
        EXECUTE pg_catalog.format('COMMENT ON COLUMN sqlsvm.%I.owner IS %L', signed.name,
            'The role that wrote the row; NULL if that is not known');
    END LOOP;
    PERFORM pg_catalog.set_config('search_path', path, true);
END $$;
