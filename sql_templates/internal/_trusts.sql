-- The caller trusts itself, the roles that it can become, superusers, the role that it named, and the owner of this schema,
-- whose functions it has called. Only a superuser does not trust the owner of the database.
CREATE OR REPLACE FUNCTION sqlsvm._trusts(owner name, named text)
RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE mine (oid) AS (
        SELECT r.oid FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user
        UNION
        SELECT m.roleid FROM mine JOIN pg_catalog.pg_auth_members AS m ON m.member = mine.oid
        WHERE coalesce(to_jsonb(m) ->> 'set_option', 'true') = 'true'
    )
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_roles AS r
        WHERE r.rolname = owner AND (
            r.rolsuper OR r.rolname = named::name OR r.oid IN (SELECT mine.oid FROM mine)
            OR r.oid IN (SELECT n.nspowner FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sqlsvm')
            OR r.oid IN (SELECT c.relowner FROM pg_catalog.pg_class AS c WHERE c.oid = 'sqlsvm.programs'::regclass)
            OR r.oid IN (SELECT d.datdba FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS s
                    WHERE s.rolsuper AND s.rolname IN (current_user, session_user))))
$$;

COMMENT ON FUNCTION sqlsvm._trusts(name, text) IS 'May what this role has stored run with the rights of the caller?';
