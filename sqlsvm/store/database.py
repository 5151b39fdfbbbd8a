"""Models in the tables of sql_templates/tables.sql, in PostgreSQL and in DuckDB. The user's names are parameters."""

import json
import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from shlex import quote
from typing import Any, NoReturn, TypeVar

from sqlglot import exp, parse_one

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Programmable, Rows, StatementError, Text
from sqlsvm.errors import EngineError, OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.score import stored_score
from sqlsvm.reading import ANEW, parsed
from sqlsvm.store.base import LISTED, Kept, Store, Stored, check_name, ordered, unknown, without_weights
from sqlsvm.store.owners import check_owners
from sqlsvm.store.templates import statements, template

T = TypeVar("T")

steps = logging.getLogger(__name__)

SCHEMA = "sqlsvm"
SCHEMA_VERSION = 4
"""The newest known form of the tables. A store begins with form 1; `sqlsvm install` adds the tables of programs."""
_WITH_PROGRAMS, _WITH_SCORES = 2, 4

_COLUMNS = tuple(name for name in LISTED if name not in ("version", "weighted", "unseen"))
_PASS = ("objective", "objective_upper", "lower_bound", "gap", "buckets", "seconds")

# pg_catalog, unlike information_schema, also shows what this role may not read.
_SCHEMAS = "SELECT COUNT(*) AS n FROM pg_catalog.pg_namespace WHERE nspname = $1"
_TABLES = "SELECT COUNT(*) AS n FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'schema_version'"
_FORM = "SELECT MAX(version) AS version FROM sqlsvm.schema_version"

# Two sessions that save the same name wait for each other at the row of the model. After the last number there is no
# row, and least() because DuckDB adds before it looks at WHERE.
_NEXT_VERSION = """\
INSERT INTO sqlsvm.models (name, last_version) VALUES ($1, 1)
ON CONFLICT (name) DO UPDATE SET last_version = least(models.last_version, 2147483646) + 1
WHERE models.last_version < 2147483647 RETURNING last_version"""

_CHOSEN = " WHERE name = $1 AND (CAST($2 AS INT) IS NULL OR version = CAST($2 AS INT))"
_NEWEST = " FROM sqlsvm.versions" + _CHOSEN + " ORDER BY version DESC LIMIT 1"
_LOAD = "SELECT version, body, owner" + _NEWEST
_LOAD_UNSIGNED = "SELECT version, body, CAST(NULL AS TEXT) AS owner" + _NEWEST
_REBIND = """\
UPDATE sqlsvm.versions SET query = $3, body = $4 WHERE name = $1 AND version = $2 AND owner = CURRENT_USER
RETURNING version"""
_VERSIONS = "SELECT version FROM sqlsvm.versions" + _CHOSEN + " ORDER BY version"
_DROP_ITERATIONS = "DELETE FROM sqlsvm.iterations" + _CHOSEN
_DROP_VERSIONS = "DELETE FROM sqlsvm.versions" + _CHOSEN
_DROP_MODEL = """\
DELETE FROM sqlsvm.models WHERE name = $1 AND NOT EXISTS (SELECT 1 FROM sqlsvm.versions AS v WHERE v.name = $1)"""

_UNSCORED = "SELECT name, version, body FROM sqlsvm.versions WHERE score IS NULL"
_UNSIGN = "ALTER TABLE sqlsvm.versions DROP CONSTRAINT IF EXISTS versions_signed"
_SCORE = "UPDATE sqlsvm.versions SET score = $3 WHERE name = $1 AND version = $2"

_COUNT_PROGRAMS = "SELECT COUNT(*) AS n FROM sqlsvm.programs WHERE name = $1"
_DROP_PROGRAM = "DELETE FROM sqlsvm.programs WHERE name = $1"
_HAS_OWNERS = """\
SELECT COUNT(*) AS n FROM information_schema.columns
WHERE table_schema = $1 AND table_name = $2 AND column_name = 'owner'"""

_SAVE_STATE = """\
INSERT INTO sqlsvm.states (name, body) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET body = EXCLUDED.body, saved_at = EXCLUDED.saved_at"""
_SIGNED = ", owner = EXCLUDED.owner"
_LOAD_STATE = "SELECT body, owner FROM sqlsvm.states WHERE name = $1"
_LOAD_STATE_UNSIGNED = "SELECT body, CAST(NULL AS TEXT) AS owner FROM sqlsvm.states WHERE name = $1"
_COUNT_STATES = "SELECT COUNT(*) AS n FROM sqlsvm.states WHERE name = $1"
_DROP_STATE = "DELETE FROM sqlsvm.states WHERE name = $1"

_FOUND = Text("SELECT name FROM sqlsvm.programs WHERE name = $1")
_FREE = Text(f"{_FOUND} FOR UPDATE SKIP LOCKED")
_WAIT = Text(f"{_FOUND} FOR UPDATE")

_ATTEMPTS = 50
_CHANGE = "SELECT, INSERT, UPDATE, DELETE"


class _Rehearsed(Exception):
    """The attempt succeeded; raised so that the transaction is rolled back."""


class DatabaseStore(Store):
    """The schema `sqlsvm` of a database. The first save creates it. Do not use the store inside a snapshot."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._catalog = str(engine.fetch(parse_one("SELECT CURRENT_DATABASE() AS name"))["name"][0])

    def check(self, name: str) -> None:
        check_name(name)
        with self._denials(_CHANGE), suppress(_Rehearsed):
            self.transaction(lambda: self._rehearse(name))

    def save(self, model: Model) -> int:
        check_name(model.name)
        with self._denials(_CHANGE):
            return self.transaction(lambda: self._insert(model))

    def load(self, name: str, version: int | None = None) -> Model:
        with self._denials("SELECT"):
            if self._is_made():
                found = self._fetch(_LOAD if self._are_signed("versions") else _LOAD_UNSIGNED, name, version)
                if len(found["body"]):
                    model = _understood(name, int(found["version"][0]), found["body"][0], Model.from_json)
                    return replace(model, owner=found["owner"][0])
        raise unknown(name, version, self.models())

    def rebind(self, model: Model) -> None:
        body = json.dumps({**model.as_json(), "version": model.version}, ensure_ascii=False)
        if not self._are_signed("versions"):
            super().rebind(model)
        with self._denials(_CHANGE):
            found = self.transaction(lambda: self._fetch(_REBIND, model.name, model.version, model.query, body))
        if not len(found["version"]):
            raise EngineError(f'only role "{model.owner}", which has stored it, looks up its names again')

    def models(self) -> tuple[Stored, ...]:
        with self._denials("SELECT"):
            if not self._is_made():
                return ()
            return ordered(_listing(self._engine.fetch(self._select())))

    def kept(self, name: str, version: int | None = None) -> Kept:
        with self._denials("SELECT"):
            return self._kept(name, version)

    def drop(self, name: str, version: int | None = None) -> Kept:
        with self._denials(_CHANGE):
            return self.transaction(lambda: self._delete(name, version))

    def save_state(self, name: str, state: Mapping[str, Any]) -> None:
        check_name(name)
        with self._denials(_CHANGE):
            self.transaction(lambda: self._insert_state(name, json.dumps(state)))

    def load_state(self, name: str) -> Mapping[str, Any] | None:
        with self._denials("SELECT"):
            if not self._is_made():
                return None
            found = self._fetch(_LOAD_STATE if self._are_signed("states") else _LOAD_STATE_UNSIGNED, name)
        for body, owner in zip(found["body"], found["owner"], strict=True):
            if not self._engine.trusts(owner):
                raise _not_trusted(name, owner)
            return parsed(body, f'unfinished training of "{name}"', ANEW)
        return None

    def drop_state(self, name: str) -> None:
        with self._denials(_CHANGE):
            if self._is_made():
                self.transaction(lambda: self._fetch_nothing(_DROP_STATE, name))

    # -- one transaction -----------------------------------------------------------------------------------------------

    def transaction(self, work: Callable[[], T]) -> T:
        """Do the work in a transaction. If another session wins a race, for example to make the tables, start again:
        then its changes are visible."""
        for _ in range(_ATTEMPTS):
            try:
                with self._engine.turn, self._engine.snapshot():
                    return work()
            except StatementError as error:
                if error.kind not in ("lost race", "exists"):
                    raise
                lost = error
                time.sleep(random.uniform(0, 0.02))
        raise lost

    def _insert(self, model: Model) -> int:
        self.make()
        version = self._next_version(model.name)
        body = {**model.as_json(), "version": version}
        values = [getattr(model, column) for column in _COLUMNS]
        values.append(json.dumps(body, ensure_ascii=False))
        scored = self._form() >= _WITH_SCORES
        row = self._insertion("versions", ("version", *_COLUMNS, "body", *(["score"] if scored else [])))
        self._engine.execute(row, [version, *values, *([stored_score(model)] if scored else [])])
        line = self._engine.text(self._insertion("iterations", ("name", "version", "pass", *_PASS)))
        for place, record in enumerate(model.history, 1):
            self._engine.execute(line, [model.name, version, place, *(record.get(column) for column in _PASS)])
        return version

    def _insert_state(self, name: str, body: str) -> None:
        self.make()
        self._fetch_nothing(_SAVE_STATE + (_SIGNED if self._are_signed("states") else ""), name, body)

    def _rehearse(self, name: str) -> NoReturn:
        self.make(comments=False)
        self._next_version(name)
        raise _Rehearsed

    def _next_version(self, name: str) -> int:
        for version in self._fetch(_NEXT_VERSION, name)["last_version"]:
            return int(version)
        raise EngineError(f'the model "{name}" has had 2147483647 versions', hint="store it under another name")

    def _kept(self, name: str, version: int | None) -> Kept:
        found = self._looked_up(name, version) if self._is_made() else Kept()
        if found == Kept():
            raise unknown(name, version, self.models())
        return found

    def _looked_up(self, name: str, version: int | None) -> Kept:
        versions = tuple(int(n) for n in self._fetch(_VERSIONS, name, version)["version"])
        if version is not None:
            return Kept(versions)
        program = self._has_programs() and self._fetch(_COUNT_PROGRAMS, name)["n"][0] > 0
        state = self._fetch(_COUNT_STATES, name)["n"][0] > 0
        return Kept(versions, bool(program), bool(state))

    def _delete(self, name: str, version: int | None) -> Kept:
        if version is None and self._is_made() and self._has_programs():
            hold_alone(self._engine, name)
        found = self._kept(name, version)
        self._fetch_nothing(_DROP_ITERATIONS, name, version)
        self._fetch_nothing(_DROP_VERSIONS, name, version)
        if found.program:
            # A run that we waited for may have saved a first version, which this transaction does not see. Writing the
            # row of the model then fails as a lost race, and the next attempt sees the version.
            self._fetch_nothing(_NEXT_VERSION, name)
            self._fetch_nothing(_DROP_PROGRAM, name)
        if found.state:
            self._fetch_nothing(_DROP_STATE, name)
        self._fetch_nothing(_DROP_MODEL, name)
        return found

    # -- the tables ----------------------------------------------------------------------------------------------------

    def _is_made(self) -> bool:
        if not self._has(_TABLES):
            return False
        form = self._form()
        if form > SCHEMA_VERSION:
            raise EngineError(
                f"the tables of models in {self._engine.url} have form {form}, which this sqlsvm does not know",
                hint="use the sqlsvm that stored them, or a newer one",
            )
        return True

    def _form(self) -> int:
        return int(self._fetch(_FORM)["version"][0])

    def make(self, *, comments: bool = True) -> None:
        """Make the tables if they do not exist, in the transaction of the caller. A rehearsal needs none of their forty
        comments."""
        if self._is_made():
            return
        # The schema may exist already: an administrator can make it for a role that may not make schemas.
        names = [] if self._fetch(_SCHEMAS, SCHEMA)["n"][0] else ["schema"]
        names += ["tables", *(["references"] if self._engine.abilities.foreign_keys else [])]
        self._run(*names, comments=comments)
        self._sign()

    def add_scores(self) -> None:
        """Those of versions that were stored before there were functions. The caller signs the table again: an UPDATE
        of a row of another role is refused while it is signed."""
        found = self._fetch(_UNSCORED)
        if len(found["name"]):
            self._engine.execute(Text(_UNSIGN))
        for name, version, body in zip(found["name"], found["version"], found["body"], strict=True):
            with suppress(OptionError):  # a model that cannot be read has no score
                model = _understood(name, int(version), body, Model.from_json)
                self._fetch_nothing(_SCORE, name, int(version), stored_score(model))

    def _sign(self) -> None:
        """From now on each row says who wrote it."""
        if isinstance(self._engine, Programmable):
            self._engine.run_script(template("owners"))

    def _are_signed(self, table: str) -> bool:
        return bool(self._fetch(_HAS_OWNERS, SCHEMA, table)["n"][0])

    def _run(self, *names: str, comments: bool) -> None:
        for statement in (statement for name in names for statement in statements(name, comments=comments)):
            self._engine.execute(self._placed(statement))

    def _has_programs(self) -> bool:
        return self._form() >= _WITH_PROGRAMS

    def _has(self, count: str) -> bool:
        """Look, then check: what is there is used only after that."""
        found = self._fetch(count, SCHEMA)["n"][0]
        check_owners(self._engine, SCHEMA)
        return bool(found)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _fetch(self, text: str, *parameters: object) -> Rows:
        return self._engine.fetch(self._placed(parse_one(text, read="postgres")), parameters)

    def _fetch_nothing(self, text: str, *parameters: object) -> None:
        self._engine.execute(self._placed(parse_one(text, read="postgres")), parameters)

    def _placed(self, statement: exp.Expr) -> exp.Expr:
        """Put the database before the schema: with a file sqlsvm.duckdb the name sqlsvm alone is ambiguous."""
        for node in statement.find_all(exp.Table, exp.Column):
            if node.args.get("db") and node.name and node.args["db"].name == SCHEMA:
                node.set("catalog", exp.to_identifier(self._catalog, quoted=True))
        return statement

    def _select(self) -> exp.Select:
        moment = sql.double(exp.Extract(this=exp.var("EPOCH"), expression=sql.column("created_at")))
        outputs = [*sql.columns(("version", *_COLUMNS)), (moment, "created_at"), (sql.column("body"), "body")]
        return sql.select(outputs, self._table("versions"))

    def _insertion(self, table: str, columns: Sequence[str]) -> exp.Insert:
        names = [exp.to_identifier(column, quoted=True) for column in columns]
        places = [exp.Parameter(this=sql.integer(n)) for n in range(1, len(names) + 1)]
        rows = exp.Values(expressions=[exp.Tuple(expressions=places)])
        return exp.Insert(this=exp.Schema(this=self._table(table), expressions=names), expression=rows)

    def _table(self, name: str) -> exp.Table:
        return exp.table_(name, SCHEMA, exp.to_identifier(self._catalog, quoted=True))

    # -- rights --------------------------------------------------------------------------------------------------------

    def _denials(self, rights: str) -> AbstractContextManager[None]:
        return explained(("denied",), lambda: self._grant(rights), "this role may not use the model store")

    def _grant(self, rights: str) -> str:
        who = self._engine.fetch(parse_one("SELECT CURRENT_USER AS role", read="postgres"))["role"][0]
        role, database = (exp.to_identifier(name, quoted=True).sql("postgres") for name in (who, self._catalog))
        if not self._fetch(_TABLES, SCHEMA)["n"][0]:
            return f"the owner of the database can allow it: GRANT CREATE ON DATABASE {database} TO {role}"
        allow = f"GRANT USAGE ON SCHEMA {SCHEMA} TO {role}; GRANT {rights} ON ALL TABLES IN SCHEMA {SCHEMA} TO {role}"
        return f"the owner of the schema can allow it: {allow}"


def _not_trusted(name: str, owner: str | None) -> EngineError:
    """A lower bound that was invented would count as proven."""
    if owner is None:
        who, hint = f'it is not known who left the passes of "{name}"', "leave out --resume to train anew"
    else:
        who = f'role "{owner}" has left the passes of "{name}", and you do not trust that role'
        hint = f"leave out --resume to train anew, or add --trust-owner {quote(owner)}"
    return EngineError(who, detail="The certificate of your model would rest on them.", hint=hint)


@contextmanager
def explained(kinds: tuple[str, ...], hint: Callable[[], str], fact: str | None = None) -> Iterator[None]:
    """The database says what is wrong; add a hint to errors of these kinds, and the fact before their message."""
    try:
        yield
    except StatementError as error:
        if error.kind not in kinds:
            raise
        message = f"{fact}: {error.message}" if fact else error.message
        raise EngineError(message, detail=error.detail, hint=hint()) from error


def _listing(rows: Rows) -> Iterator[Stored]:
    for values in zip(*(column.tolist() for column in rows.values()), strict=True):
        cells = dict(zip(rows, values, strict=True))
        body, created = cells.pop("body"), datetime.fromtimestamp(cells.pop("created_at"), UTC)
        cells |= {"weighted": False}
        try:
            model = _understood(cells["name"], cells["version"], body, without_weights)
            cells |= {"weighted": model.weighted, "unseen": model.unseen}
        except OptionError as refused:
            cells |= {"error": refused.message}
        yield Stored(**cells, created_at=created)


def _understood(name: str, version: int, body: str, made: Callable[[Mapping[str, Any], str], Model]) -> Model:
    where = f'model "{name}", version {version}'
    return made({**parsed(body, where), "version": version}, where)


def hold_alone(engine: Engine, name: str) -> None:
    """Hold the lock until the end of a `DatabaseStore.transaction`. PostgreSQL only.

    The lock is the row of the program in sqlsvm.programs, which only a role that may change the row can lock.
    `sqlsvm.train` holds it to the end of its transaction, so that two trainings do the same work one after the other,
    and no version is stored for a program that is gone. All runs work on a copy of the program
    (internal/_take_program.sql).

    The transaction is REPEATABLE READ, and its snapshot is older than the lock: it does not see what others commit
    while it waits. If it then writes a row that they changed or inserted, it fails as a lost race and begins again with
    a new snapshot.
    """
    if _rows(engine, _FOUND, name) and not _rows(engine, _FREE, name):
        steps.info('waiting for the end of the training of "%s"', name)
        engine.execute(_WAIT, [name])


def _rows(engine: Engine, query: Text, name: str) -> int:
    return len(engine.fetch(query, [name])["name"])
