"""The history of each owner: tables of WITH, and what the rows of the label are joined with."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.suggestion.features import Feature
from sqlsvm.suggestion.history import LAST, SECOND, Block, Points
from sqlsvm.suggestion.joined import Joined, Value, aliased, unused, word
from sqlsvm.suggestion.looked import moment
from sqlsvm.suggestion.measures import measures
from sqlsvm.suggestion.sources import Events, Owner
from sqlsvm.suggestion.table import Made
from sqlsvm.suggestion.windows import Window
from sqlsvm.suggestion.write import commented, with_tables

MOST_FEATURES = 1000
"""PostgreSQL allows 1,600 columns."""


@dataclass
class History:
    """The tables that make it, and the join that brings it to a row."""

    name: str
    tables: list[Made]
    on: list[exp.Expression]
    features: list[Feature]
    said: str


@dataclass
class Writer:
    """What the histories of all owners share."""

    rows: Joined
    time: Value
    windows: Sequence[Window]
    not_known: Set[tuple[str, str]]
    names: set[str]
    """The names of tables, used or taken."""
    features: set[str]
    made: list[Made] = field(default_factory=list)

    def history(self, owner: Owner, events: Sequence[Events]) -> History:
        self.made = []
        name, times = (unused([f"{owner.name}_{what}"], self.names) for what in ("history", "times"))
        points = Points(times, tuple(value.column.name for value in owner.columns))
        self._add(times, self._points(owner), f"when the history of {owner.name} is wanted")
        whole = self._whole(points, [self._block(each, points) for each in events])
        self._add(name, whole, f"the history of {owner.name} before each of these times")
        return self._found(owner, name, whole)

    # -- tables --------------------------------------------------------------------------------------------------------

    def _add(self, name: str, query: exp.Query, said: str) -> None:
        self.made.append(Made(name, query, said))

    def _points(self, owner: Owner) -> exp.Select:
        second = moment(self.time)
        own = [(value.expression, value.column.name) for value in owner.columns]
        table = aliased(self.rows.table.place, self.rows.alias)
        made = sql.select([*own, (self.time.expression, self.time.column.name), (second, SECOND)], table)
        present = [sql.not_null(value) for value in (*(v for v, _ in own), second)]
        return sql.where(made, *present).distinct(copy=False)

    def _block(self, events: Events, points: Points, further: Sequence[Value] = ()) -> Block:
        known, before = (unused([f"{events.name}_{word_}"], self.names) for word_ in ("known", "before"))
        taken = {"at_second", "number", "known_at", *(f"key_{n}" for n in range(1, 9))}
        found = measures(events, self.not_known, taken)
        block = Block(events, found, self.windows, points, known, before, further)
        self._add(known, block.known(), f"{events.said}: what was known after each")
        self._add(before, block.before(), f"how many rows of {events.rows.table.name} are before each of these times")
        return block

    def _whole(self, points: Points, blocks: Sequence[Block]) -> exp.Select:
        own = [*points.keys, self.time.column.name]
        outputs = [(sql.named(name, points.name), name) for name in own]
        made = sql.select(outputs, sql.table(points.name))
        for block in blocks:
            self._bring(made, block, points.name)
        return made

    def _bring(self, whole: exp.Select, block: Block, points: str) -> None:
        for table, on in block.joins(points):
            whole.append("joins", exp.Join(this=table, side="LEFT", on=sql.every(on)))
        for value, name in block.outputs(points):
            named = unused([word(f"{block.events.name}_{name}")], self.features)
            whole.select(exp.alias_(value, named, copy=False), copy=False)

    # -- the join ------------------------------------------------------------------------------------------------------

    def _found(self, owner: Owner, name: str, whole: exp.Select) -> History:
        own = [*(value.column.name for value in owner.columns), self.time.column.name]
        on = [sql.equal(sql.named(column, self.rows.alias), sql.named(column, name)) for column in own]
        features = [
            Feature(sql.column(o.alias, name), o.alias, name)
            for o in whole.selects[len(own) :]
            if not o.alias.endswith(f"_{LAST}")
        ]
        said = f"{name}: of {owner.name}, before {self.time}"
        return History(name, self.made, on, features, said)


def with_histories(query: exp.Select, histories: Sequence[History]) -> exp.Select:
    for history in histories:
        query = with_tables(query, history.tables)
        query = sql.join(query, sql.table(history.name), history.on, "left")
        query = sql.also(query, [(f.expression, f.name) for f in history.features])
        commented(query.args["joins"][-1], history.said)
    return query
