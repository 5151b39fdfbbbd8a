"""What is installed in the schema sqlsvm, object by object, as text that a person can read through."""

from pathlib import Path

from sqlglot import parse_one

from sqlsvm.engine.base import Engine, Text
from tests.typed import asked

INSTALLED = Path(__file__).parent / "golden" / "installed.txt"
"""The listing of what is to be there, the same on every server."""

_FUNCTIONS = """
SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ') -> ' || pg_get_function_result(p.oid) AS head,
  concat_ws(', ', l.lanname,
    CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
    CASE p.proparallel WHEN 's' THEN 'parallel safe' WHEN 'r' THEN 'parallel restricted' ELSE 'parallel unsafe' END,
    CASE WHEN p.proisstrict THEN 'strict' END,
    CASE WHEN p.prosecdef THEN 'security definer' ELSE 'security invoker' END,
    array_to_string(p.proconfig, ', ')) AS facts,
  coalesce(obj_description(p.oid, 'pg_proc'), 'NO COMMENT') AS comment
FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.pronamespace = 'sqlsvm'::regnamespace ORDER BY p.proname COLLATE "C", 1"""

_RELATIONS = """
SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'c' THEN 'type' ELSE 'other' END || ' ' || c.relname AS head,
  (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' not null'
    ELSE '' END, ', ' ORDER BY a.attnum)
    FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS facts,
  coalesce(obj_description(c.oid, 'pg_class'), obj_description(c.reltype, 'pg_type'), 'NO COMMENT') AS comment
FROM pg_class AS c
WHERE c.relnamespace = 'sqlsvm'::regnamespace AND c.relkind NOT IN ('i', 't') ORDER BY c.relname COLLATE "C" """


def listing(engine: Engine) -> str:
    """Three lines an object."""
    rows = [row for text in (_RELATIONS, _FUNCTIONS) for row in _rows(engine, text)]
    return "\n".join(f"{head}\n    {facts}\n    {comment}" for head, facts, comment in rows) + "\n"


def _rows(engine: Engine, text: str) -> list[tuple[str, ...]]:
    found = engine.fetch(Text(text))
    return list(zip(*(values.tolist() for values in found.values()), strict=True))


def value(engine: Engine, text: str) -> object:
    (column,) = engine.fetch(parse_one(text, read="postgres")).values()
    return column.tolist()[0]


def state(engine: Engine) -> str:
    """All that is installed, and every row of the tables that are never changed by training."""
    rows = engine.fetch(Text("SELECT string_agg(version::text, ',' ORDER BY version) AS v FROM sqlsvm.schema_version"))
    return listing(engine) + str(rows["v"][0])


def tables(engine: Engine) -> list[str]:
    """The working tables that exist."""
    found = "SELECT table_name AS t FROM information_schema.tables WHERE table_name LIKE 'sqlsvm%' ORDER BY t"
    return list(asked(engine, parse_one(found))["t"])
