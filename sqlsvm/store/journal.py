"""Models in a table that only grows, for an engine that cannot change a row: what is said last of a name holds.

Two sessions that save the same name at the same time may give both models the same version. Then the later one holds.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.model.model import Model
from sqlsvm.reading import ANEW, parsed
from sqlsvm.store.base import LISTED, Kept, Store, Stored, check_name, ordered, unknown, without_weights

SCHEMA = "sqlsvm"
_TABLE = "journal"
_COLUMNS = {"at": "bigint", "said": "text", "name": "text", "version": "int", "body": "text"}
Said = Literal["model", "drop", "state", "drop state"]


@dataclass(frozen=True)
class _Line:
    at: int  # nanoseconds since 1970
    said: Said
    name: str
    version: int  # 0 for all of them, and for a state
    body: str


class JournalStore(Store):
    """The table `sqlsvm.journal`. The first save makes it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def check(self, name: str) -> None:
        check_name(name)
        self._make()

    def save(self, model: Model) -> int:
        check_name(model.name)
        versions = [line.version for line in self._lines(model.name) if line.said == "model"]
        version = max(versions, default=0) + 1
        body = {**model.as_json(), "version": version}
        self._say("model", model.name, version, json.dumps(body, ensure_ascii=False))
        return version

    def load(self, name: str, version: int | None = None) -> Model:
        found = self._models(name)
        chosen = found.get((name, version or max((v for _, v in found), default=0)))
        if chosen is None:
            raise unknown(name, version, self.models())
        return _read(chosen, Model.from_json)

    def models(self) -> tuple[Stored, ...]:
        return ordered(map(_listed, self._models(None).values()))

    def kept(self, name: str, version: int | None = None) -> Kept:
        versions = tuple(sorted(v for _, v in self._models(name) if version in (None, v)))
        found = Kept(versions, state=version is None and self.load_state(name) is not None)
        if found == Kept():
            raise unknown(name, version, self.models())
        return found

    def drop(self, name: str, version: int | None = None) -> Kept:
        found = self.kept(name, version)
        if found.versions:
            self._say("drop", name, version or 0)
        if found.state:
            self.drop_state(name)
        return found

    def save_state(self, name: str, state: Mapping[str, Any]) -> None:
        check_name(name)
        self._say("state", name, 0, json.dumps(state))

    def load_state(self, name: str) -> Mapping[str, Any] | None:
        states = [line for line in self._lines(name) if line.said in ("state", "drop state")]
        if not states or states[-1].said == "drop state":
            return None
        return parsed(states[-1].body, f'unfinished training of "{name}"', ANEW)

    def drop_state(self, name: str) -> None:
        if self.load_state(name) is not None:
            self._say("drop state", name, 0)

    # -- the table -----------------------------------------------------------------------------------------------------

    def _models(self, name: str | None) -> dict[tuple[str, int], _Line]:
        """The newest line of each version that was not dropped since."""
        found: dict[tuple[str, int], _Line] = {}
        for line in self._lines(name):
            if line.said == "model":
                found[line.name, line.version] = line
            elif line.said == "drop":
                gone = [key for key in found if key[0] == line.name and line.version in (0, key[1])]
                for key in gone:
                    del found[key]
        return found

    def _lines(self, name: str | None) -> list[_Line]:
        query = sql.select(sql.columns(_COLUMNS), self._table())
        given = [] if name is None else [name]
        for place, _ in enumerate(given, 1):
            query = sql.where(query, sql.equal("name", sql.text(exp.Parameter(this=sql.integer(place)))))
        try:
            rows = self._engine.fetch(query, given)
        except StatementError as error:
            if error.kind != "no such name":
                raise
            return []
        cells = zip(*(rows[column].tolist() for column in _COLUMNS), strict=True)
        lines = (_Line(int(at), said, name_, int(version), body) for at, said, name_, version, body in cells)
        return sorted(lines, key=lambda line: line.at)

    def _say(self, said: Said, name: str, version: int, body: str = "") -> None:
        self._make()
        values = [exp.cast(exp.Parameter(this=sql.integer(n)), type) for n, type in enumerate(_COLUMNS.values(), 1)]
        insert = exp.Insert(this=self._table(), expression=exp.select(*values))
        self._engine.execute(insert, [time.time_ns(), said, name, version, body])

    def _make(self) -> None:
        columns = [
            exp.ColumnDef(this=exp.to_identifier(name), kind=exp.DataType.build(type))
            for name, type in _COLUMNS.items()
        ]
        table = exp.Schema(this=self._table(), expressions=columns)
        self._engine.execute(exp.Create(this=exp.table_("", SCHEMA), kind="SCHEMA", exists=True))
        form = exp.Properties(expressions=[exp.FileFormatProperty(this=exp.var("parquet"))])
        self._engine.execute(exp.Create(this=table, kind="TABLE", exists=True, properties=form))

    def _table(self) -> exp.Table:
        return exp.table_(_TABLE, SCHEMA)


def _read(line: _Line, made: Any) -> Model:
    where = f'model "{line.name}", version {line.version}'
    found: Model = made({**parsed(line.body, where), "version": line.version}, where)
    return found


def _listed(line: _Line) -> Stored:
    model = _read(line, without_weights)
    cells = {name: getattr(model, name) for name in LISTED}
    return Stored(**cells, created_at=datetime.fromtimestamp(line.at / 1e9, UTC))
