"""Install and upgrade: fixed files of sql_templates/, sent as they are, in one transaction.

What there is to do depends on what a database holds already: nothing; the tables, where the driver has stored a model;
the functions, of this version or another; or all of it as the extension, which PostgreSQL keeps in order itself.
"""

import re
from collections.abc import Sequence

from sqlglot import parse_one

from sqlsvm.engine.base import Engine, Programmable, StatementError
from sqlsvm.errors import EngineError, OptionError, nearest
from sqlsvm.psql.install.found import (
    FORMS,
    Found,
    check_no_extension,
    found_in,
    function_templates,
    on_postgres,
    own_version,
    rights,
)
from sqlsvm.store.database import SCHEMA, DatabaseStore
from sqlsvm.store.templates import template

OLDEST = 14
"""The first PostgreSQL on which the functions run."""

_BEFORE = "SET LOCAL check_function_bodies = off"
"""A function may call one that comes after it."""


def install(engine: Engine, readers: Sequence[str] = (), trainers: Sequence[str] = ()) -> Found:
    """Schema, tables and functions: what is missing is made. Doing it twice changes nothing. What was there before."""
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

    try:
        with rights(postgres, "install"):
            return DatabaseStore(postgres).transaction(work)
    except StatementError as error:
        if error.kind not in ("exists", "taken"):
            raise
        hint = f"the schema {SCHEMA} holds something else of that name: move or drop it; nothing was installed"
        raise EngineError(error.message, detail=error.detail, hint=hint) from error


def upgrade(engine: Engine) -> Found:
    """Functions and tables of an older version become those of this one; models stay. What was there before."""
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


def _bring_up(postgres: Programmable, found: Found) -> None:
    DatabaseStore(postgres).make_all()
    scripts = [name for form, name in FORMS.items() if form > found.form]
    postgres.run_script(_BEFORE)
    for name in (*scripts, *function_templates()):
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
    for setting, roles in (("sqlsvm.reader", readers), ("sqlsvm.trainer", trainers)):
        for role in roles:
            _set(postgres, setting, role)
            postgres.run_script(template("grants"))
            _set(postgres, setting, "")


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
