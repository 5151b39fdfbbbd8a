"""Install, upgrade and uninstall: run the files of sql_templates/ in one transaction.

A database may have nothing yet, or the tables, if a model was stored, or the functions of some version. If sqlsvm is
installed as an extension, PostgreSQL must do this itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import parse_one

from sqlsvm.engine.base import Engine, Programmable
from sqlsvm.engine.pg_catalog import OLDEST
from sqlsvm.errors import OptionError, nearest
from sqlsvm.psql.install.found import (
    FORMS,
    FUNCTIONS,
    Found,
    check_no_extension,
    found_in,
    function_names,
    function_templates,
    names,
    on_postgres,
    own_version,
    rights,
    row,
    table_names,
)
from sqlsvm.store.database import SCHEMA, DatabaseStore, explained
from sqlsvm.store.templates import template

_RELATIONS = """\
SELECT relname AS name FROM pg_catalog.pg_class
WHERE relnamespace = TO_REGNAMESPACE('sqlsvm') AND relkind IN ('r', 'v', 'm', 'f', 'p') ORDER BY relname"""

_NAMES = {
    "models": "SELECT name FROM sqlsvm.models",
    "programs": "SELECT name FROM sqlsvm.programs",
    "states": "SELECT name FROM sqlsvm.states",
}

_BEFORE = "SET LOCAL check_function_bodies = off"  # a function may call one that is made later


@dataclass(frozen=True)
class Removed:
    functions: int
    tables: int
    models: tuple[str, ...]  # also those that are only compiled, or whose training did not finish
    schema: bool  # whether the schema was dropped. A schema that an administrator made stays.


def install(engine: Engine, readers: Sequence[str] = (), trainers: Sequence[str] = ()) -> Found:
    """Make the schema, tables and functions that are missing. Return what was there before."""
    postgres = on_postgres(engine)

    def work() -> Found:
        found = found_in(postgres)
        _check_server(found)
        check_no_extension(found, "ALTER EXTENSION sqlsvm UPDATE;")
        if found.version not in (None, own_version()):
            _check_newer(found)
            raise OptionError(
                f"sqlsvm {found.version} is installed", hint="sqlsvm upgrade brings it to " + own_version()
            )
        _check_roles(postgres, [*readers, *trainers])
        _bring_up(postgres, found)
        _grant(postgres, readers, trainers)
        return found

    hint = f"the schema {SCHEMA} holds something else of that name: move or drop it; nothing was installed"
    with explained(("exists", "taken"), lambda: hint), rights(postgres, "install"):
        return DatabaseStore(postgres).transaction(work)


def upgrade(engine: Engine) -> Found:
    """Bring functions and tables to this version; models stay. Return what was there before."""
    postgres = on_postgres(engine)

    def work() -> Found:
        found = found_in(postgres)
        if found.version is None:
            raise OptionError("the SQL functions are not installed here", hint="sqlsvm install puts them in")
        check_no_extension(found, "ALTER EXTENSION sqlsvm UPDATE;")
        _check_newer(found)
        postgres.run_script(template("upgrade"))
        _bring_up(postgres, found)
        return found

    with rights(postgres, "upgrade"):
        return DatabaseStore(postgres).transaction(work)


def uninstall(engine: Engine, *, force: bool = False) -> Removed:
    """Drop functions, tables and schema; if there are models, only by force. Objects that depend on them stay."""
    postgres = on_postgres(engine)

    def work() -> Removed:
        found = found_in(postgres)
        check_no_extension(found, "DROP EXTENSION sqlsvm;")
        removed = _inventory(postgres, found)
        if removed.models and not force:
            raise _kept(removed)
        postgres.run_script(template("uninstall"))
        return removed

    with explained(("depended on",), lambda: "drop that first; nothing was removed"), rights(postgres, "uninstall"):
        return DatabaseStore(postgres).transaction(work)


def _bring_up(postgres: Programmable, found: Found) -> None:
    store = DatabaseStore(postgres)
    store.make()
    scripts = [name for form, name in FORMS.items() if form > found.form]
    postgres.run_script(_BEFORE)
    for name in ("owners", *scripts):
        postgres.run_script(template(name))
    store.add_scores()
    for name in ("owners", "types", *function_templates(), "sealed"):
        postgres.run_script(template(name))


def _check_roles(postgres: Programmable, roles: Sequence[str]) -> None:
    if not roles:
        return
    known = [
        "public",
        *postgres.fetch(parse_one("SELECT rolname FROM pg_catalog.pg_roles", read="postgres"))["rolname"],
    ]
    for role in roles:
        if role not in known:
            hint = nearest(role, known) or "a superuser makes one: CREATE ROLE; a role's name is case-sensitive here"
            raise OptionError(f'role "{role}" does not exist', hint=hint)


def _grant(postgres: Programmable, readers: Sequence[str], trainers: Sequence[str]) -> None:
    for reader, trainer in (*((role, "") for role in readers), *(("", role) for role in trainers)):
        _set(postgres, "sqlsvm.reader", reader)
        _set(postgres, "sqlsvm.trainer", trainer)
        postgres.run_script(template("grants"))


def _set(postgres: Programmable, setting: str, value: str) -> None:
    postgres.fetch(parse_one("SELECT SET_CONFIG($1, $2, TRUE) AS v", read="postgres"), [setting, value])


def _check_server(found: Found) -> None:
    if found.server < OLDEST:
        raise OptionError(f"the SQL functions need PostgreSQL {OLDEST} or newer", detail=f"this is {found.server}")


def _check_newer(found: Found) -> None:
    if found.version is not None and _numbers(found.version) > _numbers(own_version()):
        raise OptionError(
            f"sqlsvm {found.version} is installed, which is newer than this one, {own_version()}",
            hint="pip install --upgrade sqlsvm",
        )


def _numbers(version: str) -> list[int]:
    """
    >>> _numbers("0.10.0") > _numbers("0.9.1")
    True
    """
    return [int(part) for part in re.findall(r"\d+", version)]


def _inventory(postgres: Programmable, found: Found) -> Removed:
    functions, relations = names(postgres, FUNCTIONS), names(postgres, _RELATIONS)
    if not functions and not relations:
        raise OptionError(f"there is nothing of sqlsvm in {postgres.url}")
    strangers = sorted({*functions, *relations} - {*function_names(), *table_names()})
    if strangers:
        raise OptionError(
            f"the schema {SCHEMA} also holds {', '.join(strangers)}",
            detail=f"sqlsvm {own_version()} did not make that",
            hint="move it to another schema or drop it; nothing was removed",
        )
    kept = {name for table in relations if table in _NAMES for name in names(postgres, _NAMES[table])}
    owns = "SELECT PG_HAS_ROLE(nspowner, 'USAGE') AS owns FROM pg_catalog.pg_namespace WHERE nspname = 'sqlsvm'"
    return Removed(len(functions), len(relations), tuple(sorted(kept)), bool(row(postgres, owns)["owns"]))


def _kept(removed: Removed, most: int = 10) -> OptionError:
    names = ", ".join(removed.models[:most]) + (" and others" if len(removed.models) > most else "")
    return OptionError(
        f"{len(removed.models)} model{'s' * (len(removed.models) > 1)} would be lost: {names}",
        detail=f"with {removed.functions} functions and {removed.tables} tables; nothing was removed",
        hint="--force removes them too",
    )
