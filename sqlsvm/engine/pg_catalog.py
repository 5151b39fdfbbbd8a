"""Queries of PostgreSQL's catalog: types and their kinds, tables, functions, keys and rights."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap
from typing import Any

from sqlglot import exp, parse_one

from sqlsvm import sql
from sqlsvm.engine import wire
from sqlsvm.engine.base import (
    Abilities,
    Called,
    Column,
    ForeignKey,
    Kind,
    Parameters,
    Programmable,
    Spelling,
    Stranger,
    declared_keys,
)
from sqlsvm.engine.pg_names import Names
from sqlsvm.engine.rates import BY_ROWS
from sqlsvm.errors import MovedError, OptionError

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


OLDEST = 14  # the oldest PostgreSQL that sqlsvm works with

# Known without a query. PostgreSQL counts money, oid and regclass as numbers too; here they are none.
_KINDS: dict[int, Kind] = {
    wire.BOOLEAN: "boolean",
    **dict.fromkeys((20, 21, 23, 700, 701, 1700), "numeric"),
    **dict.fromkeys((18, 19, 25, 1042, 1043, wire.UUID), "categorical"),
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
}

_DESCRIBE_TYPES = """\
SELECT format_type(t.oid, given.modifier), t.typtype = 'e' OR t.typname = 'citext'
FROM unnest($1::int8[], $2::int4[]) WITH ORDINALITY AS given (oid, modifier, place)
JOIN pg_catalog.pg_type AS t ON t.oid = given.oid::oid
ORDER BY given.place"""

_TABLE_NAMES = """\
SELECT CASE WHEN row_number() OVER (PARTITION BY c.relname ORDER BY path.place) = 1 AND path.place IS NOT NULL
  THEN c.relname ELSE n.nspname || '.' || c.relname END AS name
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN unnest($1::text[]) WITH ORDINALITY AS path (name, place) ON path.name = n.nspname
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY name"""

# A partition has the rows of its table, and a schema that this role may not use holds nothing to read.
_TABLES = """\
SELECT n.nspname, c.relname FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND (n.nspname !~ '^pg_' OR n.oid = pg_my_temp_schema())
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY n.nspname, c.relname"""

_FOREIGN_KEYS = """\
SELECT tn.nspname, t.relname,
  ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY AS at (number, place)
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = at.number ORDER BY at.place),
  fn.nspname, f.relname,
  ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY AS at (number, place)
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.confrelid AND a.attnum = at.number ORDER BY at.place)
FROM pg_catalog.pg_constraint AS k
JOIN pg_catalog.pg_class AS t ON t.oid = k.conrelid JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.relnamespace
JOIN pg_catalog.pg_class AS f ON f.oid = k.confrelid JOIN pg_catalog.pg_namespace AS fn ON fn.oid = f.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0 ORDER BY tn.nspname, t.relname, k.conname"""

_VOLATILE_FUNCTIONS = f"""{NAMED}
SELECT DISTINCT p.proname FROM unnest($1::text[], $2::text[]) AS called (schema, name)
JOIN named ON named.name = called.name JOIN pg_catalog.pg_proc AS p ON p.oid = named.runs
JOIN pg_catalog.pg_namespace AS s ON s.oid = named.space
WHERE p.provolatile = 'v' AND (s.nspname = CASE WHEN called.schema = '' THEN 'pg_catalog' ELSE called.schema END
  OR called.schema = 'pg_temp' AND s.oid = pg_my_temp_schema())
ORDER BY p.proname"""

_READ = """\
WITH RECURSIVE read (n, oid) AS (
  SELECT n, to_regclass(name)::oid FROM unnest($1::text[]) WITH ORDINALITY AS given (name, n)
  UNION SELECT read.n, below.oid FROM read CROSS JOIN LATERAL (
    SELECT d.refobjid FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = c.oid
    JOIN pg_catalog.pg_depend AS d
      ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
    WHERE c.oid = read.oid AND c.relkind = 'v'
    UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = read.oid) AS below (oid))
"""
_FAR = f"""{_READ}
SELECT DISTINCT read.n - 1 FROM read JOIN pg_catalog.pg_class AS c ON c.oid = read.oid AND c.relkind = 'f'"""

# And the types of what is read, if they have casts, which may stand nowhere in a text.
_VIEW_TEXTS = f"""{_READ}
SELECT pg_get_viewdef(c.oid) FROM read JOIN pg_catalog.pg_class AS c ON c.oid = read.oid AND c.relkind = 'v'
UNION SELECT format('SELECT CAST(NULL AS %I.%I)', s.nspname, t.typname)
FROM read JOIN pg_catalog.pg_attribute AS a ON a.attrelid = read.oid
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid AND t.typnamespace <> 'pg_catalog'::regnamespace
JOIN pg_catalog.pg_namespace AS s ON s.oid = t.typnamespace
WHERE EXISTS (SELECT FROM pg_catalog.pg_cast AS k WHERE t.oid IN (k.castsource, k.casttarget))
ORDER BY 1"""

# LOCK takes no foreign table and no materialised view, and wants the right to all columns.
_LOCKABLE = """\
SELECT given.name FROM unnest($1::text[]) AS given (name)
JOIN pg_catalog.pg_class AS c ON c.oid = to_regclass(given.name)
WHERE c.relkind IN ('r', 'p', 'v') AND has_table_privilege(c.oid, 'SELECT')"""

# A unique index on an inheritance parent does not cover its children; on a partitioned table it does. An index under
# another collation, or with the operators of another type, does not compare as = does.
_UNIQUE_KEYS = """\
SELECT asked.place, array_agg(a.attname::text) FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
JOIN pg_catalog.pg_index AS i ON i.indrelid = to_regclass(asked.name)
JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid
CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) AS at (j)
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[at.j]
JOIN pg_catalog.pg_opclass AS o ON o.oid = i.indclass[at.j]
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
WHERE i.indisunique AND i.indisvalid AND i.indimmediate
  AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT (c.relkind = 'r' AND c.relhassubclass)
GROUP BY asked.place, i.indexrelid
HAVING bool_and(i.indcollation[at.j] IN (0, a.attcollation) AND o.opcdefault AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_opclass AS own
  WHERE own.opcmethod = o.opcmethod AND own.opcdefault AND own.oid <> o.oid
    AND own.opcintype = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END))
ORDER BY asked.place, i.indexrelid"""

_NEVER_NULL = """\
SELECT attname::text FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND attnotnull"""

# Not a table with partitions or children: the same places of each of them are kept, and they may not be heaps.
_THINS = """\
SELECT c.relkind IN ('r', 'm') AND NOT c.relhassubclass AND a.amname = 'heap'
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_am AS a ON a.oid = c.relam
WHERE c.oid = to_regclass($1)"""

_BLURRING_COLLATION = """\
SELECT oid::regcollation::text FROM pg_catalog.pg_collation WHERE oid = $1::regcollation AND NOT collisdeterministic"""

_OWN_EQUALITY = """\
SELECT FROM pg_catalog.pg_opclass AS o JOIN pg_catalog.pg_type AS t ON t.oid = to_regtype($1)
WHERE o.opcdefault AND o.opcnamespace <> 'pg_catalog'::regnamespace AND o.opcintype = t.oid"""

_COMPOSITE = "SELECT typtype = 'c' OR typname = 'record' FROM pg_catalog.pg_type WHERE oid = to_regtype($1)"

_WORK_SCHEMA = """\
SELECT n.oid IS NOT NULL, has_schema_privilege(n.oid, 'CREATE') AND has_schema_privilege(n.oid, 'USAGE'),
  quote_ident(given.name), quote_ident(current_user)
FROM (SELECT $1::text) AS given (name) LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = given.name"""

# Membership does not count: a role that may grant itself could make anybody its member.
_TRUSTED = """\
WITH trusted (oid, name) AS (
  SELECT r.oid, r.rolname FROM pg_catalog.pg_roles AS r
  WHERE r.rolsuper OR r.rolname = current_user OR r.rolname = ANY ($1::name[])
)
"""

_TRUSTS = f"{_TRUSTED} SELECT EXISTS (SELECT FROM trusted WHERE trusted.name = $2::name)"

# Three ways to run code through a schema: to own something in it, or a table with a foreign key to it, whose triggers
# run when a row here goes; to have written what its tables call (a trigger, a default, a rule, a policy, the type of a
# column); and to have the right to add something. pg_depend has "auto" and "internal" for the parts of a table. Names
# are looked up by nspname: it agrees with the snapshot, and casts do not.
_STRANGERS = f"""\
{_TRUSTED}, here AS (
  SELECT n.tableoid AS class, n.oid, n.nspname AS name, n.nspowner AS owner, n.nspacl AS acl
  FROM pg_catalog.pg_namespace AS n WHERE n.nspname = $2::name
), tables AS (
  SELECT c.tableoid AS class, c.oid, c.relname AS name, c.relowner AS owner, c.relacl AS acl
  FROM here JOIN pg_catalog.pg_class AS c ON c.relnamespace = here.oid WHERE c.relkind NOT IN ('i', 'I')
), held (class, oid, owner) AS (
  SELECT class, oid, owner FROM here
  UNION ALL SELECT class, oid, owner FROM tables
  UNION ALL SELECT p.tableoid, p.oid, p.proowner FROM here JOIN pg_catalog.pg_proc AS p ON p.pronamespace = here.oid
  UNION ALL SELECT o.tableoid, o.oid, o.oprowner FROM here JOIN pg_catalog.pg_operator AS o ON o.oprnamespace = here.oid
  UNION ALL SELECT t.tableoid, t.oid, t.typowner FROM here JOIN pg_catalog.pg_type AS t ON t.typnamespace = here.oid
  WHERE t.typrelid = 0 AND t.typcategory <> 'A'
  UNION ALL SELECT c.tableoid, c.oid, c.relowner FROM tables
  JOIN pg_catalog.pg_inherits AS i ON i.inhparent = tables.oid JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
  UNION ALL SELECT c.tableoid, c.oid, c.relowner FROM tables
  JOIN pg_catalog.pg_constraint AS k ON k.confrelid = tables.oid JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
), parts (class, oid) AS (
  SELECT class, oid FROM tables
  UNION SELECT d.classid, d.objid FROM tables JOIN pg_catalog.pg_depend AS d
    ON d.refclassid = tables.class AND d.refobjid = tables.oid AND d.deptype IN ('a', 'i')
), code (class, oid, owner) AS (
  SELECT p.tableoid, p.oid, p.proowner FROM pg_catalog.pg_proc AS p
  UNION ALL SELECT o.tableoid, o.oid, o.oprowner FROM pg_catalog.pg_operator AS o
  UNION ALL SELECT t.tableoid, t.oid, t.typowner FROM pg_catalog.pg_type AS t
), called (class, oid, owner) AS (
  SELECT DISTINCT parts.class, parts.oid, code.owner FROM parts
  JOIN pg_catalog.pg_depend AS d ON d.classid = parts.class AND d.objid = parts.oid
  JOIN code ON code.class = d.refclassid AND code.oid = d.refobjid
), rights (class, oid, role, does, remedy) AS (
  SELECT here.class, here.oid, a.grantee, 'may create objects in',
    pg_catalog.format('REVOKE CREATE ON SCHEMA %I', here.name)
  FROM here CROSS JOIN LATERAL pg_catalog.aclexplode(here.acl) AS a WHERE a.privilege_type = 'CREATE'
  UNION ALL SELECT tables.class, tables.oid, a.grantee,
    CASE a.privilege_type WHEN 'TRIGGER' THEN 'may add triggers to' ELSE 'may add foreign keys to' END,
    pg_catalog.format('REVOKE %s ON %I.%I', a.privilege_type, here.name, tables.name)
  FROM here CROSS JOIN tables CROSS JOIN LATERAL (
    SELECT tables.acl UNION SELECT c.attacl FROM pg_catalog.pg_attribute AS c WHERE c.attrelid = tables.oid
  ) AS given (acl) CROSS JOIN LATERAL pg_catalog.aclexplode(given.acl) AS a
  WHERE a.privilege_type IN ('TRIGGER', 'REFERENCES')
), found (place, class, oid, role, does, remedy) AS (
  SELECT 1, class, oid, owner, 'owns', NULL FROM held
  UNION ALL SELECT 2, class, oid, owner, 'wrote what runs in', NULL FROM called
  UNION ALL SELECT 3, class, oid, role, does, remedy FROM rights
)
SELECT coalesce(r.rolname, 'PUBLIC'),
  pg_catalog.concat_ws(' ', coalesce('role "' || r.rolname::text || '"', 'PUBLIC'), found.does, o.type, o.identity),
  found.remedy || ' FROM ' || coalesce(pg_catalog.quote_ident(r.rolname::text), 'PUBLIC')
FROM found LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = found.role
CROSS JOIN LATERAL pg_catalog.pg_identify_object(found.class, found.oid, 0) AS o
WHERE found.role NOT IN (SELECT trusted.oid FROM trusted)
ORDER BY found.place, o.type <> 'schema', o.type, o.identity"""

_INTEGERS = ("smallint", "integer", "bigint")

# In the server's binary format these are integers.
_TIMES = ("date", "time without time zone", "timestamp without time zone", "timestamp with time zone")

_PORTABLE = {"boolean": exp.DType.BOOLEAN, **dict.fromkeys((*_INTEGERS, *_TIMES), exp.DType.BIGINT)}

_COLLATED = ("text", "character varying", "character", "bpchar", "name")


class PgCatalog(Programmable):
    """The part of an engine for PostgreSQL that reads pg_catalog. A subclass sends the queries."""

    abilities = Abilities(
        invoker_views=True,
        integers=frozenset(_INTEGERS),
        inexact=frozenset(("real", "double precision")),
        shortest=True,
        portable=_PORTABLE,
    )
    rates = BY_ROWS

    _names: Names

    def __init__(self) -> None:
        self._kinds = dict(_KINDS)
        self._called = set[Called]()
        self._held: tuple[object, object] | None = None

    @abstractmethod
    def _ask(self, text: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    def table_names(self) -> tuple[str, ...]:
        return tuple(name for (name,) in self._ask(_TABLE_NAMES, [self._names.path]))

    def tables(self) -> tuple[exp.Table, ...]:
        return tuple(starmap(sql.in_schema, self._ask(_TABLES)))

    def foreign_keys(self) -> tuple[ForeignKey, ...]:
        return declared_keys(self._ask(_FOREIGN_KEYS))

    def volatile_functions(self, called: Sequence[Called]) -> tuple[str, ...]:
        self._called.update(each for each in called if each[0] not in ("", *SYSTEM))
        return tuple(name for (name,) in self._ask(_VOLATILE_FUNCTIONS, [*map(list, zip(*called, strict=True))]))

    def unpinned_functions(self, called: Sequence[Called]) -> tuple[str, ...]:
        return self._names.unpinned(called)

    def view_texts(self, tables: Sequence[exp.Table]) -> tuple[str, ...]:
        return tuple(text for (text,) in self._ask(_VIEW_TEXTS, [[self._name(table) for table in tables]]))

    def far(self, tables: Sequence[exp.Table]) -> frozenset[int]:
        return frozenset(place for (place,) in self._ask(_FAR, [[self._name(table) for table in tables]]))

    def naming(self, tables: Sequence[exp.Table], called: Sequence[Called]) -> exp.Query | None:
        names = {("relation", self._meant(table.args["db"]), self._meant(table.this)) for table in tables if table.db}
        names |= {
            ("operator" if SYMBOLS.issuperset(name) else "function", *each) for each in called for name in each[1:]
        }
        kept = sorted(name for name in names if name[1] and name[1] not in SYSTEM)
        return written_out(MEANINGS, *_columns(kept, 3))

    def watching(self, called: Sequence[Called]) -> tuple[exp.Query, ...]:
        kept = [each for each in called if each[0] not in ("", *SYSTEM)]
        return written_out(LOCKED), written_out(DEFINED, *_columns(kept, 2)), written_out(MOVED)

    def _meant(self, name: exp.Identifier) -> str:
        return self.fold(name.name, bool(name.args.get("quoted")))

    def _lockable(self, names: Sequence[str]) -> list[str]:
        return [name for (name,) in self._ask(_LOCKABLE, [names])] if names else []

    @contextmanager
    def _held_still(self, names: Sequence[str]) -> Iterator[None]:
        """What is read there has to be the same at the end, and whenever `check_read` is called."""
        if not names:
            yield
            return
        ((locked,),) = self._ask(LOCKED)
        self._held = locked, self._defined()
        try:
            self.check_read()
            yield
            self.check_read()
        finally:
            self._held = None

    def check_read(self) -> None:
        if self._held is None:
            return
        locked, defined = self._held
        moved = self._ask(MOVED, [locked])
        if not moved and self._defined() != defined:
            moved = [("a function that is called was replaced",)]
        if moved:
            raise MovedError(
                f"{moved[0][0]} after this transaction had begun",
                detail="The transaction sees other tables as they were before that.",
                hint="end the transaction, and do this again",
            )

    def _defined(self) -> object:
        return self._ask(DEFINED, _columns(sorted(self._called), 2)) if self._called else None

    def unique_keys(self, tables: Sequence[exp.Table]) -> list[list[frozenset[str]]]:
        found: list[list[frozenset[str]]] = [[] for _ in tables]
        for place, columns in self._ask(_UNIQUE_KEYS, [[self._name(table) for table in tables]]):
            found[place - 1].append(frozenset(columns))
        return found

    def never_null(self, table: exp.Table) -> frozenset[str]:
        return frozenset(name for (name,) in self._ask(_NEVER_NULL, [self._name(table)]))

    def thins(self, table: exp.Table) -> bool:
        return self._ask(_THINS, [self._name(table)]) == [(True,)]

    def blur(self, column: Column, of: exp.Query) -> str | None:
        if column.spelling == "caseless":
            return column.type
        if _base(column.type) not in _COLLATED:
            return None
        value = of.copy().limit(0).subquery()
        asked = exp.select(exp.alias_(exp.Anonymous(this="pg_collation_for", expressions=[value]), "name"))
        found = self._ask(_BLURRING_COLLATION, [self.fetch(asked)["name"][0]])
        return f"COLLATE {found[0][0]}" if found else None

    def own_equality(self, column: Column) -> bool:
        return "." in column.type and bool(self._ask(_OWN_EQUALITY, [column.type]))

    def composite(self, column: Column) -> bool:
        return column.kind == "other" and self._ask(_COMPOSITE, [column.type]) == [(True,)]

    def compared_as(self, types: Sequence[str]) -> str | None:
        """In a comparison with a float a large number becomes a double. Blanks at the end of a character varying do not
        count in a comparison with a character(n). In the hour in which clocks change, two times without a zone are one
        time with a zone."""
        is_large = any(type == "bigint" or type.startswith("numeric") for type in types)
        if is_large and not self.abilities.inexact.isdisjoint(types):
            return "double precision"
        bases = {_base(type) for type in types}
        if "character varying" in bases and not bases.isdisjoint(("character", "bpchar")):
            return "bpchar"
        if bases.issuperset(("timestamp without time zone", "timestamp with time zone")):
            return "timestamp with time zone"
        return None

    def trusts(self, role: str | None) -> bool:
        return self._ask(_TRUSTS, [list(self.trusted), role]) == [(True,)]

    def strangers(self, schema: str) -> tuple[Stranger, ...]:
        return tuple(starmap(Stranger, self._ask(_STRANGERS, [list(self.trusted), schema])))

    def _name(self, table: exp.Table) -> str:
        """As to_regclass reads it: a table as the query spells it, a working table by its present name."""
        parts = {name: table.args.get(name) for name in ("this", "db", "catalog")}
        return self.text(exp.Table(**{part: at.copy() for part, at in parts.items() if at}))

    def _check_work_schema(self, schema: str) -> None:
        """Refuse a schema in which this user may not make tables."""
        ((known, allowed, quoted, user),) = self._ask(_WORK_SCHEMA, [schema])
        grant = f"GRANT USAGE, CREATE ON SCHEMA {quoted} TO {user}"
        if not known:
            raise OptionError(f"there is no schema {schema}", hint=f"type: CREATE SCHEMA {quoted}; {grant}")
        if not allowed:
            raise OptionError(f"{user} may not make tables in schema {schema}", hint=f"its owner types: {grant}")

    def _kind(self, oid: int) -> Kind:
        if oid not in self._kinds:
            self._types([oid], [-1])
        return self._kinds[oid]

    def _types(self, oids: list[int], modifiers: list[int]) -> list[tuple[str, Kind]]:
        """The names and kinds of types. No domains: the server reports the type below them."""
        answer = self._ask(_DESCRIBE_TYPES, (oids, modifiers))
        for oid, (_, is_category) in zip(oids, answer, strict=True):
            self._kinds.setdefault(oid, "categorical" if is_category else "other")
        return [(name, self._kinds[oid]) for oid, (name, _) in zip(oids, answer, strict=True)]


def spelling(type: str) -> Spelling:
    if _base(type) in ("character", "bpchar"):
        return "padded"
    return "caseless" if type.rpartition(".")[2] == "citext" else "exact"


def _base(type: str) -> str:
    return re.sub(r"\(\d+\)", "", type)


def _columns(rows: Sequence[tuple[str, ...]], width: int) -> list[list[str]]:
    return [[row[place] for row in rows] for place in range(width)]
