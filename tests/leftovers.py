"""What a test leaves in a database that others use after it, and in this process."""

import os
import re
from dataclasses import dataclass

from sqlsvm.engine.base import Engine, Text
from tests.typed import typed

_DUCKDB = """
SELECT CASE table_type WHEN 'VIEW' THEN 'VIEW ' ELSE 'TABLE ' END || '"' || replace(table_schema, '"', '""') || '"."'
    || replace(table_name, '"', '""') || '"' AS name FROM information_schema.tables
UNION ALL SELECT 'SCHEMA "' || replace(schema_name, '"', '""') || '"' FROM information_schema.schemata"""

# Also what a role may do here, and what is set for all sessions. A training may be stored in one of the five tables.
_POSTGRES = """
WITH ours AS (SELECT oid, relkind, relnamespace FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
    AND oid >= 16384 AND NOT pg_is_other_temp_schema(relnamespace) AND relnamespace::regnamespace::text !~ '^pg_to')
SELECT CASE relkind WHEN 'v' THEN 'VIEW ' WHEN 'm' THEN 'MATERIALIZED VIEW ' WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END
    || oid::regclass AS name FROM ours
UNION ALL SELECT 'SCHEMA ' || quote_ident(nspname) FROM pg_namespace WHERE nspname !~ '^pg_t'
UNION ALL SELECT 'ROUTINE ' || oid::regprocedure FROM pg_proc WHERE oid >= 16384
UNION ALL SELECT 'TYPE ' || oid::regtype FROM pg_type WHERE oid >= 16384 AND typrelid = 0 AND typelem = 0
UNION ALL SELECT 'right of ' || refobjid::regrole FROM pg_shdepend AS d WHERE refclassid = 'pg_authid'::regclass
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
UNION ALL SELECT 'setting ' || unnest(setconfig) FROM pg_db_role_setting
    WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"""

_STORED = """
SELECT 'programs 1 ' || name AS name FROM sqlsvm.programs UNION ALL SELECT 'states 1 ' || name FROM sqlsvm.states
UNION ALL SELECT 'models ' || last_version || ' ' || name FROM sqlsvm.models
UNION ALL SELECT 'versions ' || version || ' ' || name FROM sqlsvm.versions
UNION ALL SELECT DISTINCT 'iterations ' || version || ' ' || name FROM sqlsvm.iterations"""


STORED = "programs", "states", "iterations", "versions", "models"


@dataclass(frozen=True)
class Found:
    """What there is before a test."""

    objects: set[str]
    stored: set[str]
    schemas: list[str]
    """The path of the user."""


def found(engine: Engine) -> Found:
    if engine.dialect == "duckdb":
        return Found(_names(engine, _DUCKDB), set(), [])
    objects = _names(engine, _POSTGRES)
    stored = _names(engine, _STORED) if "SCHEMA sqlsvm" in objects else set()
    return Found(objects, stored, engine._names.schemas)  # type: ignore[attr-defined]


def _names(engine: Engine, query: str) -> set[str]:
    return set(engine.fetch(Text(query))["name"].tolist())


def sweep(engine: Engine, before: Found) -> None:
    """Drop the tables, views, schemas, models and programs that have come, and look names up where they were."""
    for name in sorted(found(engine).objects - before.objects):
        if made := re.fullmatch(r"(TABLE|VIEW|MATERIALIZED VIEW|SCHEMA) (.+)", name, re.DOTALL):
            typed(engine, f"DROP {made[1]} IF EXISTS {made[2]} CASCADE")
    for table in STORED if "SCHEMA sqlsvm" in before.objects else ():
        kept = [name.split(" ", 2)[2] for name in before.stored if name.startswith(f"{table} ")]
        engine.execute(Text(f"DELETE FROM sqlsvm.{table} WHERE name <> ALL($1)"), [kept])
    if engine.dialect == "postgres":
        engine.look_in(before.schemas)  # type: ignore[attr-defined]


def check(engine: Engine, before: Found) -> None:
    now = found(engine)
    more, less = (now.objects | now.stored, before.objects | before.stored)
    assert more == less, f"a test leaves {sorted(more - less)} and takes {sorted(less - more)}"


def environment() -> dict[str, str]:
    """What sqlsvm and libpq look at."""
    return {name: value for name, value in os.environ.items() if name.startswith(("SQLSVM_", "PG"))}
