\echo Use "CREATE EXTENSION sqlsvm" to load this file. \quit
-- PostgreSQL has put the schema on the path, and takes one that is there. No name below is looked up in it.
SET LOCAL search_path = pg_catalog, pg_temp;

-- A role that owns the schema, may make objects in it or has made some could run code through what is installed.
DO $$
DECLARE
    said text;
BEGIN
    WITH here AS (
        SELECT n.oid, n.nspowner AS owner, n.nspacl AS acl FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'sqlsvm'
    ), trusted (oid) AS (
        SELECT r.oid FROM pg_catalog.pg_roles AS r WHERE r.rolsuper OR r.rolname = current_user
    )
    SELECT found.said INTO said FROM (
        SELECT 1, format('belongs to "%s"', here.owner::regrole::name) FROM here
        WHERE here.owner NOT IN (SELECT trusted.oid FROM trusted)
        UNION ALL
        SELECT 2, format('is open to "%s"', coalesce(r.rolname, 'PUBLIC'))
        FROM here CROSS JOIN LATERAL aclexplode(here.acl) AS a LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
        WHERE a.privilege_type = 'CREATE' AND a.grantee NOT IN (SELECT trusted.oid FROM trusted)
        UNION ALL
        SELECT 3, 'is not empty' FROM here JOIN pg_catalog.pg_depend AS d
            ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = here.oid AND d.classid <> 'pg_extension'::regclass
    ) AS found (place, said) ORDER BY found.place LIMIT 1;
    IF said IS NOT NULL THEN
        RAISE EXCEPTION USING
            MESSAGE = 'the schema sqlsvm ' || said,
            DETAIL = 'What another role makes there would run with the rights of those who use the extension.',
            HINT = 'Drop the schema, or make it your own: it has to be empty, and only you may create objects in it.';
    END IF;
END $$;

