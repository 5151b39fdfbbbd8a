-- May what this role has stored run with the rights of the caller? The caller trusts itself, superusers, the role that it named, and the owner of this schema, whose functions it has called.
CREATE OR REPLACE FUNCTION sqlsvm._trusts(owner name, named text)
RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_roles AS r
        WHERE r.rolname = owner AND (r.rolsuper OR r.rolname IN (current_user, named::name)
            OR r.oid IN (SELECT n.nspowner FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sqlsvm')))
$$;
