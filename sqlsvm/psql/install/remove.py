"""Remove sqlsvm from a database."""

from dataclasses import dataclass

from sqlsvm.engine.base import Engine, Programmable
from sqlsvm.errors import OptionError
from sqlsvm.psql.install.found import (
    FUNCTIONS,
    Found,
    check_no_extension,
    found_in,
    function_names,
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


@dataclass(frozen=True)
class Removed:
    functions: int
    tables: int
    models: tuple[str, ...]
    """Also those that are only compiled, or whose training did not finish."""
    schema: bool
    """Whether the schema was dropped. A schema that an administrator made stays."""


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
