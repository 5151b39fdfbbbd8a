"""The dates that a sub-query has read, as more of its outputs: so rows that it adds up still say when they were.

SELECT c, COUNT(*) AS n FROM visits GROUP BY c
SELECT c, COUNT(*) AS n, MAX(visits.at) AS sqlsvm_date0 FROM visits GROUP BY c

Of rows that are added up it is the latest date, also of those of a window and of a scalar sub-query.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.query.sources import from_items, without
from sqlsvm.times import DATES

DATE = "sqlsvm_date"

Node = TypeVar("Node", bound=exp.Expr)
Describe = Callable[[exp.Query], tuple[Column, ...]]


@dataclass
class Dates:
    """Adds outputs to SELECTs, which it changes."""

    describe: Describe
    known: frozenset[str]  # the names of outputs that are no news: the time itself
    found: dict[str, str] = field(default_factory=dict)  # what each new output is: visits.at
    missed: list[str] = field(default_factory=list)  # what could not be looked into

    def add(self, query: exp.Query) -> list[str]:
        """The names of the new outputs of a query."""
        if not isinstance(query, exp.Select) or not query.args.get("from_"):
            if query.find(exp.Table):
                self.missed.append(type(query).__name__.upper())
            return []
        own = [part for value, said in self._read(query) for part in self._latest(query, value, said)]
        own += dict.fromkeys(part for inner in _scalar(query) for part in self._of_scalar(inner))
        names = [self._named(said) for _, said in own]
        outputs = (exp.alias_(value, name) for (value, _), name in zip(own, names, strict=True))
        query.select(*outputs, copy=False)
        if query.args.get("distinct") and names:
            self.missed.append("DISTINCT")
        return names

    def _named(self, said: str) -> str:
        name = f"{DATE}{len(self.found)}"
        self.found[name] = said
        return name

    def _read(self, query: exp.Select) -> Iterator[tuple[exp.Column, str]]:
        stars = any(item.is_star for item in query.expressions)
        told = {item.name for item in query.expressions if isinstance(item, exp.Column) and item.name in self.known}
        told |= self.known if stars else frozenset()
        named = _with(query)
        for item in from_items(query):
            alias = item.alias_or_name
            if isinstance(item, exp.Table) and not item.db and item.name in named:
                self.missed.append(f"WITH {item.name}")
                columns = []
            elif isinstance(item, exp.Table):
                probe = exp.select("*").from_(item.copy())
                columns = [(c.name, f"{item.name}.{c.name}") for c in self.describe(probe) if c.kind in DATES]
            elif isinstance(item, exp.Subquery):
                columns = [(name, self.found.pop(name)) for name in self.add(item.this)]
            else:
                self.missed.append(type(item).__name__.upper())
                columns = []
            yield from ((sql.named(name, alias), said) for name, said in columns if name not in told)

    def _latest(self, query: exp.Select, value: exp.Column, said: str) -> Iterator[tuple[exp.Expression, str]]:
        latest = sql.largest(value.copy())
        windows = _own(query, exp.Window)
        if query.args.get("group") or (_own(query, exp.AggFunc) and not windows):
            yield latest, said
            return
        yield value, said
        for spec in {window.sql(): window for window in windows}.values():
            parts = {name: part for name, part in spec.args.items() if name != "this"}
            yield exp.Window(this=latest.copy(), **{name: _copied(part) for name, part in parts.items()}), said

    def _of_scalar(self, inner: exp.Select) -> Iterator[tuple[exp.Expression, str]]:
        """The same sub-query with each of its dates as its output."""
        for value, said in self._read(inner):
            yield exp.Subquery(this=without(inner, "order", "limit", "offset", outputs=[sql.largest(value)])), said


def _with(query: exp.Expr | None) -> set[str]:
    """The names that WITH gives here."""
    named = set[str]()
    while query is not None:
        clause = query.args.get("with_")
        named |= {cte.alias for cte in clause.expressions} if clause else set()
        query = query.parent
    return named


def _copied(part: object) -> object:
    if isinstance(part, list):
        return [_copied(each) for each in part]
    return part.copy() if isinstance(part, exp.Expr) else part


def _own(query: exp.Select, kind: type[Node]) -> list[Node]:
    """Those of its outputs that are in no sub-query."""
    return [node for item in query.expressions for node in item.find_all(kind) if node.parent_select is query]


def _scalar(query: exp.Select) -> list[exp.Select]:
    found = [node.this for item in query.expressions for node in item.find_all(exp.Subquery)]
    return [each for each in found if isinstance(each, exp.Select)]
