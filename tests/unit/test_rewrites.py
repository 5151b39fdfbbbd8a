"""What each rule makes of a query: its small example in rewrites/, as the text that the query is rendered to."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlglot import exp

from sqlsvm.engine.base import Column
from sqlsvm.engine.rates import Thresholds
from sqlsvm.maps.mapped import Mapped, mapped
from sqlsvm.query import FeatureQuery, Relation, Term
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.rewrites import RULES, split
from sqlsvm.query.rewrites.kinds import without_nulls
from sqlsvm.query.rows import render
from sqlsvm.run.data import widened
from tests.unit.queries import NoKeys, taken_apart

FOLDER = Path(__file__).parent / "rewrites"
TABLES = {"orders": ["id", "c", "day", "paid", "late"], "customers": ["id", "born", "code"], "visits": ["c", "minutes"]}


class Engine:
    """What sums are asked of a database: dates have no minus of their own."""

    class abilities:
        single = "real"

    sizes = Thresholds(few_pairs=0)

    @staticmethod
    def fold(name: str, quoted: bool) -> str:
        return name

    @staticmethod
    def describe(query: exp.Query) -> tuple[Column, ...]:
        return tuple(Column("c", "integer", "numeric") for _ in query.selects)


class Known(NoKeys):
    """A key is unique if it is called id. Columns called code ignore case, day is a date."""

    engine: Any = Engine()

    def is_key(self, query: FeatureQuery, alias: str, terms: tuple[Term, ...]) -> bool:
        return any(term.expression.name == "id" for term in terms)

    def of(self, relation: Relation) -> Any:
        return SimpleNamespace(rows=10.0 if relation.alias == "o" else 100.0)

    def is_known_of_nothing(self, relation: Relation, value: exp.Expression) -> bool:
        return value.find(exp.Coalesce) is not None

    def columns(self, relation: Relation, values: Sequence[exp.Expression]) -> tuple[Column, ...]:
        return tuple(self._column(value) for value in values)

    @staticmethod
    def _column(value: exp.Expression) -> Column:
        read = {column.name for column in value.find_all(exp.Column)}
        if "code" in read:
            return Column("c", "citext", "categorical", "caseless")
        return Column("c", "date", "other") if "day" in read else Column("c", "integer", "numeric")


def by(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    return split.grouped(split.by_column("paid")(query, facts), facts)


def part(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    return split.part_of("train")(split.marked(split.Holdout(0.25))(query, facts), facts)


ASKED: dict[str, Rule] = {
    "by_column": by,
    "part_of": part,
    "mapped": mapped([Mapped("halved:born", ("born",), {"half": "$1 / 2"})]),
    "without_nulls": without_nulls,
    "widened": widened,
}
EVERY = {rule.__name__: rule for rule in RULES} | ASKED


def caseless(query: FeatureQuery) -> FeatureQuery:
    def described(column: Column) -> Column:
        return replace(column, spelling="caseless") if column.name == "code" else column

    return replace(
        query, relations=tuple(replace(r, columns=tuple(map(described, r.columns))) for r in query.relations)
    )


@pytest.mark.parametrize("name", EVERY)
def test_example(name: str) -> None:
    before, after = (FOLDER / f"{name}.sql").read_text(encoding="utf-8").split("-- becomes\n")
    query = caseless(taken_apart(before, tables=TABLES, label="late", audited=["c.born"] if name == "widened" else []))
    changed = EVERY[name](query, Known())
    outputs = [(f.expression.copy(), f.name) for f in changed.outputs]
    told = f"-- tells of {changed.tells_of}\n" if changed.tells_of else ""
    assert render(changed, outputs).sql("postgres", pretty=True, max_text_width=100) + "\n" + told == after


def test_every_rule_has_an_example() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(EVERY)


@pytest.mark.parametrize("name", ["meet", "whole_sums", "plain_keys", "implied_filters", "widened"])
def test_a_rule_that_does_not_apply_changes_nothing(name: str) -> None:
    query = taken_apart("SELECT late, paid FROM orders AS o", tables=TABLES, label="late").complete
    assert EVERY[name](query, Known()) == query
