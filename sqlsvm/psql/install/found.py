"""What sqlsvm installs in a PostgreSQL database, and what a database already has of it."""

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine, Programmable
from sqlsvm.errors import OptionError
from sqlsvm.store.database import SCHEMA, explained
from sqlsvm.store.owners import check_owners
from sqlsvm.store.templates import template, templates_in

FORMS: dict[int, str] = {2: "programs", 3: "steps", 4: "scores"}
"""The templates that change the tables to the next form, by the number that each writes into schema_version."""

FUNCTIONS = """\
SELECT proname AS name FROM pg_catalog.pg_proc
WHERE pronamespace = TO_REGNAMESPACE('sqlsvm') ORDER BY proname"""

# Of the snapshot, like `Engine.strangers`: a cast to regclass would also see what another session makes meanwhile.
_LOOK = """\
SELECT EXISTS (
    SELECT 1 FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
    WHERE n.nspname = 'sqlsvm' AND p.proname = 'version' AND p.pronargs = 0) AS has_functions,
  EXISTS (
    SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'sqlsvm' AND tablename = 'schema_version') AS has_tables,
  EXISTS (SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'sqlsvm') AS is_extension,
  CAST(CURRENT_SETTING('server_version_num') AS INT) / 10000 AS server"""

_WHO = """\
SELECT CURRENT_USER AS role, CURRENT_DATABASE() AS database,
  (SELECT pg_catalog.pg_get_userbyid(nspowner) FROM pg_catalog.pg_namespace WHERE nspname = 'sqlsvm') AS owner"""


@dataclass(frozen=True)
class Found:
    """What a database has of sqlsvm."""

    version: str | None  # the version of the functions; None if there are none
    form: int  # the form of the tables; 0 if there are none
    is_extension: bool
    server: int  # the major version of PostgreSQL


def own_version() -> str:
    """The version of the functions that would be installed."""
    found = re.search(r"'(\d[^']*)'", template("functions/version"))
    assert found is not None
    return found[1]


def function_templates() -> tuple[str, ...]:
    """Helpers first."""
    return templates_in("internal") + templates_in("functions")


def function_names() -> tuple[str, ...]:
    return tuple(name.rpartition("/")[2] for name in function_templates())


def table_names() -> tuple[str, ...]:
    texts = (template(name) for name in ("tables", *FORMS.values()))
    return tuple(name for text in texts for name in re.findall(rf"^CREATE TABLE {SCHEMA}\.(\w+)", text, re.MULTILINE))


def look(engine: Engine) -> Found:
    postgres = on_postgres(engine)
    with rights(postgres, "look at"):
        return found_in(postgres)


def found_in(postgres: Programmable) -> Found:
    facts = row(postgres, _LOOK)
    check_owners(postgres, SCHEMA)
    version = str(row(postgres, "SELECT sqlsvm.VERSION() AS v")["v"]) if facts["has_functions"] else None
    form = row(postgres, "SELECT MAX(version) AS v FROM sqlsvm.schema_version")["v"] if facts["has_tables"] else 0
    return Found(version, int(str(form)), bool(facts["is_extension"]), int(str(facts["server"])))


def check_no_extension(found: Found, instead: str) -> None:
    if found.is_extension:
        raise OptionError("sqlsvm is here as an extension, which PostgreSQL manages", hint=f"in SQL: {instead}")


def on_postgres(engine: Engine) -> Programmable:
    if not isinstance(engine, Programmable):
        raise OptionError(
            f"{engine.version} cannot hold the SQL functions, which are for PostgreSQL",
            hint="--dsn postgresql://user@host/database",
        )
    return engine


def row(postgres: Programmable, text: str, *parameters: object) -> dict[str, object]:
    """The first row of an answer."""
    answer = postgres.fetch(parse_one(text, read="postgres"), parameters)
    return {name: values.tolist()[0] for name, values in answer.items()}


def names(postgres: Programmable, text: str, *parameters: object) -> list[str]:
    """The column `name` of an answer."""
    return [str(name) for name in postgres.fetch(parse_one(text, read="postgres"), parameters)["name"]]


def rights(postgres: Programmable, verb: str) -> AbstractContextManager[None]:
    return explained(("denied",), lambda: _who_may(postgres), f"this role may not {verb} sqlsvm")


def _who_may(postgres: Programmable) -> str:
    facts = row(postgres, _WHO)
    if facts["owner"] is not None:
        return f"connect as {facts['owner']}, who owns the schema {SCHEMA}"
    role, database = (exp.to_identifier(str(facts[k]), quoted=True).sql("postgres") for k in ("role", "database"))
    return f"the owner of the database can allow it: GRANT CREATE ON DATABASE {database} TO {role}"
