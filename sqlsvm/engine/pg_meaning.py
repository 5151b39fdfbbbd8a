"""Queries that say what the names of a query stand for, and whether that changes while a transaction reads it."""

from collections.abc import Sequence

from sqlglot import exp, parse_one

# Also the functions of an aggregate, which PostgreSQL says is immutable, that of an operator, and the casts of a type.
NAMED = """\
WITH named AS (
  SELECT p.proname AS name, p.pronamespace AS space, p.oid AS runs FROM pg_catalog.pg_proc AS p
  UNION ALL SELECT p.proname, p.pronamespace, part.oid
  FROM pg_catalog.pg_aggregate AS a JOIN pg_catalog.pg_proc AS p ON p.oid = a.aggfnoid
  CROSS JOIN LATERAL (VALUES (a.aggtransfn::oid), (a.aggfinalfn::oid), (a.aggmtransfn::oid), (a.aggminvtransfn::oid),
    (a.aggmfinalfn::oid), (a.aggcombinefn::oid)) AS part (oid)
  UNION ALL SELECT o.oprname, o.oprnamespace, o.oprcode::oid FROM pg_catalog.pg_operator AS o
  UNION ALL SELECT t.typname, t.typnamespace, c.castfunc
  FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_cast AS c ON t.oid IN (c.castsource, c.casttarget) AND c.castfunc <> 0
)"""
# All of a name: another function of it may fit better. A database that was restored elsewhere has other numbers. Each
# text is written several times, which takes the values out of string_agg in sqlglot.
MEANINGS = """\
SELECT 'database' AS kind, '' AS schema, CAST(d.datname AS text) AS name,
  CONCAT(c.system_identifier, ' ', d.oid) AS oids, NULL AS owner
FROM pg_catalog.pg_database AS d CROSS JOIN pg_catalog.pg_control_system() AS c
WHERE d.datname = current_database()
UNION ALL
SELECT a.kind, a.schema, a.name, coalesce(array_to_string(array_agg(CAST(f.oid AS text) ORDER BY f.oid), ' '), ''),
  nullif(array_to_string(array_agg(DISTINCT CAST(r.rolname AS text)), ', '), '')
FROM unnest(CAST($1 AS text[]), CAST($2 AS text[]), CAST($3 AS text[])) AS a(kind, schema, name)
LEFT JOIN (
  SELECT 'relation' AS kind, relnamespace AS space, relname AS name, oid, relowner AS owner FROM pg_catalog.pg_class
  UNION ALL SELECT 'function', pronamespace, proname, oid, proowner FROM pg_catalog.pg_proc
  UNION ALL SELECT 'function', typnamespace, typname, oid, typowner FROM pg_catalog.pg_type
  UNION ALL SELECT 'operator', oprnamespace, oprname, oid, oprowner FROM pg_catalog.pg_operator
) AS f ON f.kind = a.kind AND f.name = a.name AND f.space = CASE
  WHEN a.schema = 'pg_temp' THEN pg_my_temp_schema() ELSE CAST(to_regnamespace(quote_ident(a.schema)) AS oid) END
LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = f.owner
GROUP BY a.kind, a.schema, a.name
ORDER BY kind, schema, name"""
SYSTEM = frozenset(("pg_catalog", "information_schema"))
SYMBOLS = frozenset("-+*/<>=~!@#%^&|`?")

LOCKED = """\
SELECT array_agg(DISTINCT l.relation::int8) AS found FROM pg_catalog.pg_locks AS l
WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation'"""

# A session keeps the locks of all that it has read. What TRUNCATE, REFRESH or a new table of the same name has put
# there since the snapshot is in another file than the one that the snapshot knows. An index may be new: it has the rows
# of its table. ATTACH PARTITION and INHERIT wait for no reader, and a plan takes what is attached when it is made. So
# the session gets a lock that it did not have, and the snapshot does not know why. Only of partitions the system tells
# what they are part of now. What has been attached to another table has all columns of it. What the transaction makes
# or drops itself has a stronger lock.
MOVED = """\
WITH RECURSIVE held (oid) AS (
  SELECT unnest($1::int8[])::oid
  UNION SELECT i.inhrelid FROM held JOIN pg_catalog.pg_inherits AS i ON i.inhparent = held.oid
), known (oid) AS (
  SELECT c.oid FROM held JOIN pg_catalog.pg_class AS c ON c.oid = held.oid
  WHERE c.relkind IN ('r', 'f', 'p') AND c.relnatts > 0 AND c.relnamespace <> 'pg_catalog'::regnamespace
), read (oid, kind, file, is_temporary, is_held) AS (
  SELECT l.relation, c.relkind, c.relfilenode, c.relpersistence = 't', l.relation IN (SELECT oid FROM held)
  FROM pg_catalog.pg_locks AS l LEFT JOIN pg_catalog.pg_class AS c ON c.oid = l.relation
  WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation')
SELECT oid::regclass::text || ' was truncated, refreshed or made anew' AS said FROM read
WHERE kind IS DISTINCT FROM 't' AND pg_get_indexdef(oid) IS NULL AND file IS DISTINCT FROM 0
  AND pg_relation_filenode(oid) <> coalesce(file, 0)
UNION ALL
SELECT oid::regclass::text || ' became a part of a table that is read,' FROM read
WHERE kind IN ('r', 'f', 'p') AND NOT is_held AND NOT is_temporary
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_locks AS own
    WHERE own.pid = pg_backend_pid() AND own.relation = read.oid AND own.mode = 'AccessExclusiveLock') AND CASE
  WHEN pg_partition_root(oid) <> oid THEN pg_partition_root(oid) IN (SELECT oid FROM known)
  ELSE EXISTS (SELECT FROM known WHERE NOT EXISTS (
    SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = known.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS other
        WHERE other.attrelid = read.oid AND other.attname = a.attname AND other.atttypid = a.atttypid))) END
ORDER BY 1 LIMIT 1"""

# What the system has for these functions now, whatever the snapshot says.
DEFINED = f"""{NAMED}
SELECT md5(array_to_string(array_agg(pg_get_functiondef(p.oid) ORDER BY p.oid), '')) AS found
FROM unnest($1::text[], $2::text[]) AS called (schema, name)
JOIN pg_catalog.pg_namespace AS s ON s.nspname = called.schema
JOIN named ON named.name = called.name AND named.space = s.oid
JOIN pg_catalog.pg_proc AS p ON p.oid = named.runs AND p.prokind <> 'a'"""


def written_out(text: str, *columns: Sequence[str]) -> exp.Query:
    """The query with arrays for its first parameters."""
    found = parse_one(text, read="postgres", into=exp.Select)
    for place, values in enumerate(columns, 1):
        (parameter,) = (p for p in found.find_all(exp.Parameter) if p.name == str(place))
        parameter.replace(exp.Array(expressions=[exp.Literal.string(value) for value in values]))
    return found
