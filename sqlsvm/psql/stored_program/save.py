"""Programs in the tables of sql_templates/programs.sql."""

import json
from shlex import quote

from sqlsvm import sql
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Engine, Programmable, Text
from sqlsvm.errors import EngineError, OptionError
from sqlsvm.model.plain import plain
from sqlsvm.psql.stored_program.make import SOURCES, StoredProgram
from sqlsvm.run.workspace import rendered
from sqlsvm.store.base import check_name
from sqlsvm.store.database import SCHEMA, DatabaseStore, explained, hold_alone
from sqlsvm.store.owners import check_owners

_SAVE = """\
INSERT INTO sqlsvm.programs (name, query, label, description, options, start)
VALUES ($1, $2, $3, CAST($4 AS JSONB), CAST($5 AS JSONB), CAST($6 AS JSONB))
ON CONFLICT (name) DO UPDATE SET query = EXCLUDED.query, label = EXCLUDED.label, description = EXCLUDED.description,
  options = EXCLUDED.options, start = EXCLUDED.start, compiled_at = EXCLUDED.compiled_at, owner = EXCLUDED.owner"""

_INSTALLED = """\
SELECT COUNT(*) AS n
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS s ON s.oid = c.relnamespace
WHERE s.nspname = 'sqlsvm' AND c.relname = 'programs'"""

_FORGET = "DELETE FROM sqlsvm.statements WHERE program = $1"

_SAVE_STATEMENT = """\
INSERT INTO sqlsvm.statements (program, part, place, name, working_table, text)
VALUES ($1, $2, $3, $4, $5, $6)"""


def check_place(engine: Engine, name: str) -> None:
    """Refuse, before any work, a name or a place where no program can be saved."""
    check_name(name)
    if not isinstance(engine, Programmable):
        raise OptionError(f"{engine.version} cannot run a stored program", hint="--dsn postgresql://user@host/database")
    installed = engine.fetch(Text(_INSTALLED))
    check_owners(engine, SCHEMA)
    if not installed["n"][0]:
        hint = f"sqlsvm install --dsn {quote(engine.url)}"
        raise EngineError(f"the SQL functions are not in {engine.url}", hint=hint)


def save_program(engine: Engine, name: str, program: StoredProgram) -> None:
    """Replace the program of this name, as soon as no session trains with it. A model of that name and its versions
    stay."""
    check_place(engine, name)
    hint = "the owner of the schema sqlsvm can allow it: sqlsvm install --trainer ROLE"
    with explained(("denied",), lambda: hint, "this role may not store programs"):
        DatabaseStore(engine).transaction(lambda: _save(engine, name, program))


def _save(engine: Engine, name: str, program: StoredProgram) -> None:
    hold_alone(engine, name)
    engine.execute(Text(_FORGET), [name])
    steps = [
        (part, place, *step)
        for part, made in program.parts.items()
        for place, step in enumerate((one, text) for one in made for text in _texts(engine, part, one))
    ]
    given = [plain({**program.description, "statements": len(steps)}), plain(program.options), program.start]
    described = [json.dumps(value, ensure_ascii=False, allow_nan=False) for value in given]
    engine.execute(Text(_SAVE), [name, program.query, program.label, *described])
    for part, place, one, text in steps:
        engine.execute(Text(_SAVE_STATEMENT), [name, part, place, one.name, one.table, text])


def _texts(engine: Engine, part: str, one: Statement) -> tuple[str, ...]:
    """A run makes each source a table or a view, and analyses working tables."""
    if one.table is None:
        return rendered(engine, one)
    return (engine.text(one.query if part == SOURCES else sql.temporary(one.table, one.query)),)
