"""Random SELECTs as people write them, two deep, over small tables with NULLs, ties and duplicate keys, some of them
empty: what is trained on is what the result of the query would be as a table."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest

from sqlsvm import sql
from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.options import Nulls
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.scaling import means
from sqlsvm.query.forms import RESULT
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rows import render
from sqlsvm.run.data import Data
from sqlsvm.run.opening import open_problem
from tests.ground.rewriting import rows_of
from tests.ground.trained import training
from tests.typed import asked, own_schema, run

TABLES = ("r", "s", "t", "u")
_COLUMNS = {"k": "INT", "j": "INT", "x": "INT", "d": "FLOAT8", "b": "BOOLEAN", "w": "VARCHAR(9)", "at": "TIMESTAMP"}
_KINDS = {"k": "number", "j": "number", "x": "number", "d": "number", "b": "boolean", "w": "text", "at": "time"}
FORMS = (
    "plain", "plain", "distinct", "distinct on", "group", "group", "group", "limit", "set", "window", "alias",
    "constant", "twice",
)  # fmt: skip
JOINS = ("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")


@contextmanager
def tables(engine: Engine, rng: np.random.Generator) -> Iterator[None]:
    """In a schema of their own, which is gone afterwards."""
    with own_schema(engine, "selects"):
        for name in TABLES:
            key = "id INT PRIMARY KEY, " if rng.random() < 0.5 else "id INT, "
            run(engine, f"CREATE TABLE {name} ({key}{', '.join(f'{n} {t}' for n, t in _COLUMNS.items())})")
            rows = [_row(rng, n) for n in range(int(rng.integers(3, 20)) if rng.random() < 0.92 else 0)]
            if rows:
                run(engine, f"INSERT INTO {name} VALUES {', '.join(rows)}")
        yield


def _row(rng: np.random.Generator, n: int) -> str:
    values = [
        str(rng.integers(0, 4)),
        str(rng.integers(0, 4)),
        str(rng.integers(-5, 9)),
        str(float(rng.integers(-8, 9)) / 4),
        ("TRUE", "FALSE")[int(rng.integers(2))],
        ("'a'", "'b'", "'c'")[int(rng.integers(3))],
        f"TIMESTAMP '2024-01-{int(rng.integers(1, 9)):02} {int(rng.integers(3)) * 6:02}:00:00'",
    ]
    return f"({n}, {', '.join('NULL' if rng.random() < 0.07 else v for v in values)})"


@dataclass(frozen=True)
class Item:
    """An item of FROM, and the kinds of its columns."""

    text: str
    alias: str
    kinds: dict[str, str]

    def of(self, kind: str) -> list[str]:
        return [f"{self.alias}.{name}" for name, own in self.kinds.items() if own == kind]


class Drawing:
    """A random query. Names are never used twice, so that each means one thing."""

    def __init__(self, rng: np.random.Generator, dialect: str) -> None:
        self.rng, self.dialect, self.names = rng, dialect, 0

    def one(self, *of: str) -> str:
        return of[int(self.rng.integers(len(of)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def name(self, start: str) -> str:
        self.names += 1
        return f"{start}{self.names}"

    # -- FROM ----------------------------------------------------------------------------------------------------------

    def item(self, depth: int) -> Item:
        alias = self.name("f")
        if depth and self.chance(0.4):
            text, kinds = self.select(depth - 1)
            return Item(f"({text}) AS {alias}", alias, kinds)
        if self.chance(0.06):
            return Item(f"(VALUES (1, 2, TRUE), (2, 5, FALSE), (3, 1, TRUE)) AS {alias}(k, x, b)", alias,
                        {"k": "number", "x": "number", "b": "boolean"})  # fmt: skip
        if self.chance(0.04):
            return Item(f"GENERATE_SERIES(0, 3) AS {alias}(k)", alias, {"k": "number"})
        return Item(f"{self.one(*TABLES)} AS {alias}", alias, {"id": "number", **_KINDS})

    def from_(self, depth: int) -> tuple[str, list[Item]]:
        items = [self.item(depth)]
        text = items[0].text
        for _ in range(int(self.rng.integers(0, 3))):
            if self.chance(0.15):
                lateral, other = self.lateral(items)
                text += lateral
            else:
                other = self.item(depth)
                text += self.join(items, other)
            items.append(other)
        return text, items

    def join(self, items: list[Item], other: Item) -> str:
        kind, on = self.one(*JOINS), []
        keys, theirs = [c for i in items for c in i.of("number")], other.of("number")
        if kind == "CROSS JOIN" or not keys or not theirs:
            return f" CROSS JOIN {other.text}"
        on.append(f"{self.one(*keys)} = {self.one(*theirs)}")
        times, its = [c for i in items for c in i.of("time")], other.of("time")
        if kind != "FULL JOIN" and times and its and self.chance(0.35):
            if self.dialect == "duckdb" and kind in ("JOIN", "LEFT JOIN") and " AS " in other.text and self.chance(0.4):
                before = f"{self.one(*times)} {self.one('>', '>=')} {self.one(*its)}"
                return f" ASOF {kind} {other.text} ON {on[0]} AND {before}"
            on.append(self.ordered(self.one(*times), self.one(*its)))
        if kind != "FULL JOIN" and self.chance(0.15):
            on.append(self.condition([other]))
        return f" {kind} {other.text} ON {' AND '.join(on)}"

    def ordered(self, mine: str, theirs: str) -> str:
        days = int(self.rng.integers(1, 4))
        return self.one(
            f"{theirs} < {mine}", f"{theirs} >= {mine}", f"{theirs} <> {mine}",
            f"{theirs} < {mine} AND {theirs} >= {mine} - INTERVAL '{days} days'",
            f"{theirs} BETWEEN {mine} - INTERVAL '{days} days' AND {mine}",
        )  # fmt: skip

    def lateral(self, items: list[Item]) -> tuple[str, Item]:
        """The first rows, an aggregate, or all rows of those of the same key."""
        v, alias = self.name("v"), self.name("l")
        keys, times = [c for i in items for c in i.of("number")] or ["1"], [c for i in items for c in i.of("time")]
        where = f"{v}.{self.one('k', 'j')} = {self.one(*keys)}"
        if times and self.chance(0.6):
            where += f" AND {self.ordered(self.one(*times), f'{v}.at')}"
        kind = self.one("LEFT JOIN", "JOIN")
        way = self.one("first", "first", "few", "sum", "all")
        if way == "sum":
            inner = f"SELECT COUNT(*) AS n, MAX({v}.x) AS m FROM {self.one(*TABLES)} AS {v} WHERE {where}"
            return f" {kind} LATERAL ({inner}) AS {alias} ON TRUE", Item("", alias, {"n": "number", "m": "number"})
        inner = f"SELECT {v}.x AS m, {v}.w AS c FROM {self.one(*TABLES)} AS {v} WHERE {where}"
        if way != "all":
            down = self.one(" DESC", "")
            inner += f" ORDER BY {v}.at{down}, {v}.x, {v}.w LIMIT {1 if way == 'first' else 2}"
        return f" {kind} LATERAL ({inner}) AS {alias} ON TRUE", Item("", alias, {"m": "number", "c": "text"})

    # -- values --------------------------------------------------------------------------------------------------------

    def condition(self, items: list[Item]) -> str:
        columns = {kind: [c for i in items for c in i.of(kind)] for kind in ("number", "boolean", "text", "time")}
        found = [f"{c} > {int(self.rng.integers(-3, 4))}" for c in columns["number"]]
        found += [f"{a} <= {b} + 2" for a in columns["number"][:2] for b in columns["number"][-2:]]
        found += columns["boolean"]
        found += [f"{c} IN ('a', 'b')" for c in columns["text"]] + [f"{c} IS NOT NULL" for c in columns["time"]]
        return self.one(*found) if found else "TRUE"

    def sub_query(self, items: list[Item]) -> str:
        """A condition with a query in it."""
        v, table = self.name("v"), self.one(*TABLES)
        keys = [c for i in items for c in i.of("number")] or ["1"]
        key, mine = f"{v}.{self.one('k', 'j')}", self.one(*keys)
        times = [c for i in items for c in i.of("time")]
        same = f"FROM {table} AS {v} WHERE {key} = {mine}"
        if times and self.chance(0.5):
            same += f" AND {self.ordered(self.one(*times), f'{v}.at')}"
        deeper = f" AND EXISTS (SELECT 1 FROM {self.one(*TABLES)} AS {v}x WHERE {v}x.k = {v}.j)"
        deep = deeper if self.chance(0.2) else ""
        return self.one(
            f"EXISTS (SELECT 1 {same}{deep})",
            f"NOT EXISTS (SELECT 1 {same}{deep})",
            f"{mine} IN (SELECT {key} FROM {table} AS {v} WHERE {v}.b{deep})",
            f"{mine} NOT IN (SELECT {key} FROM {table} AS {v} WHERE {v}.x > 2{deep})",
            f"{mine} = ANY (SELECT {key} FROM {table} AS {v})",
            f"{mine} >= ALL (SELECT {v}.x {same}{deep})",
            f"(SELECT COUNT(*) {same}{deep}) > 1",
            f"{mine} <= (SELECT MAX({v}.x) {same}{deep})",
        )

    def value(self, items: list[Item]) -> tuple[str, str]:
        """An expression, and its kind."""
        numbers = [c for i in items for c in i.of("number")]
        others = [(c, kind) for i in items for kind in ("boolean", "text", "time") for c in i.of(kind)]
        if not numbers or (others and self.chance(0.3)):
            return others[int(self.rng.integers(len(others)))] if others else ("1", "number")
        a, b = self.one(*numbers), self.one(*numbers)
        if self.chance(0.15):
            v = self.name("v")
            of = self.one("COUNT(*)", f"MAX({v}.x)", f"SUM({v}.d)")
            return f"(SELECT {of} FROM {self.one(*TABLES)} AS {v} WHERE {v}.k = {a})", "number"
        if self.chance(0.1):
            return self.sub_query(items), "boolean"
        case = f"CASE WHEN {self.condition(items)} THEN {a} ELSE 0 END"
        return self.one(a, a, a, f"{a} + {b}", f"{a} * {b}", f"COALESCE({a}, {b})", case), "number"

    def aggregate(self, items: list[Item]) -> tuple[str, str]:
        value, kind = self.value(items)
        among = f" FILTER (WHERE {self.condition(items)})" if self.chance(0.2) else ""
        if "SELECT" in value or self.chance(0.2):
            return f"COUNT(*){among}", "number"
        if kind != "number":
            name = "BOOL_OR" if kind == "boolean" else "MAX"
            return self.one(f"{name}({value}){among}", f"COUNT(DISTINCT {value}){among}"), "any"
        if self.chance(0.06):
            return f"PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {value})", "any"
        name = self.one("SUM", "AVG", "MIN", "MAX", "COUNT", "STDDEV", "COUNT(DISTINCT", "SUM(DISTINCT")
        kind = "any" if name in ("AVG", "STDDEV") else "number"
        return f"{name}({value}){among}" if "(" not in name else f"{name} {value}){among}", kind

    # -- SELECT --------------------------------------------------------------------------------------------------------

    def select(self, depth: int, label: bool = False) -> tuple[str, dict[str, str]]:
        """The text, and the kinds of its outputs. The first one is the label."""
        form = self.one(*FORMS)
        if form == "set":
            return self.set_operation(depth)
        cte = self.name("c") if self.chance(0.15) and depth else ""
        before = ""
        text, items = self.from_(depth)
        if cte:
            inner, kinds = self.select(depth - 1)
            before = f"WITH {cte} AS ({inner}) "
            other = Item(f"{cte} AS {cte}x", f"{cte}x", kinds)
            text += self.join(items, other)
            items.append(other)
        where = [self.condition(items)] * self.chance(0.2) + [self.sub_query(items)] * self.chance(0.2)
        text = f" FROM {text}" + (f" WHERE {' AND '.join(where)}" if where else "")
        booleans = [c for i in items for c in i.of("boolean")]
        target = self.one(*booleans) if booleans and not self.chance(0.2) else f"{self.value_of(items, 'number')} > 1"
        if form == "group":
            return self.grouped(before, items, target, text)
        return self.listed(before, items, target, text, form)

    def value_of(self, items: list[Item], kind: str) -> str:
        found = [c for i in items for c in i.of(kind)]
        return self.one(*found) if found else "1"

    def listed(self, before: str, items: list[Item], target: str, text: str, form: str) -> tuple[str, dict[str, str]]:
        values = [self.value(items) for _ in range(int(self.rng.integers(1, 4)))]
        outputs = [(target, self.name("y"), "boolean"), *((v, self.name("a"), kind) for v, kind in values)]
        if form == "window":
            (key, _), number = values[0], self.value_of(items, "number")
            over = f"PARTITION BY {key} ORDER BY {self.value_of(items, 'time')}" if "SELECT" not in key else ""
            outputs.append((f"{self.one('SUM', 'COUNT', 'MAX')}({number}) OVER ({over})", self.name("a"), "number"))
        elif form == "constant":
            outputs.append((self.one("1", "'x'"), self.name("a"), "any"))
        elif form == "alias" and self.dialect == "duckdb":
            plain = [name for value, name, kind in outputs if kind == "number" and "SELECT" not in value]
            outputs += [(f"{name} + 1", self.name("a"), "number") for name in plain[:1]]
        names, shown = [name for _, name, _ in outputs], [f"{v} AS {name}" for v, name, _ in outputs]
        kinds = {name: kind for _, name, kind in outputs}
        if form == "twice":
            shown.append(shown[-1])
            del kinds[names[-1]]
        head = {"distinct": "DISTINCT ", "distinct on": f"DISTINCT ON ({names[0]}, {names[-1]}) "}.get(form, "")
        tail = f" ORDER BY {', '.join([names[0], names[-1], *names[1:-1]])}" if form == "distinct on" else ""
        if form == "limit":
            tail = f" ORDER BY {', '.join(map(str, range(1, 1 + len(names))))} LIMIT {int(self.rng.integers(2, 20))}"
        return f"{before}SELECT {head}{', '.join(shown)}{text}{tail}", kinds

    def grouped(self, before: str, items: list[Item], target: str, text: str) -> tuple[str, dict[str, str]]:
        more = [value for value, _ in (self.value(items) for _ in range(int(self.rng.integers(1, 3))))]
        keys = [target, *(value for value in more if "SELECT" not in value)]
        outputs = [(target, self.name("y"), "boolean")]
        for value, kind in [self.aggregate(items) for _ in range(int(self.rng.integers(1, 4)))]:
            outputs.append((value, self.name("a"), kind))
        most = self.value_of(items, "number")
        having = f" HAVING {self.one('COUNT(*) > 1', f'MAX({most}) > 0')}" if self.chance(0.2) else ""
        shown = ", ".join(f"{value} AS {name}" for value, name, _ in outputs)
        return f"{before}SELECT {shown}{text} GROUP BY {', '.join(keys)}{having}", {
            name: kind for _, name, kind in outputs
        }

    def set_operation(self, depth: int) -> tuple[str, dict[str, str]]:
        y, a, sides = self.name("y"), self.name("a"), []
        for _ in range(2):
            item = self.item(depth)
            number = self.value_of([item], "number")
            sides.append(f"SELECT {number} > 1 AS {y}, {number} AS {a} FROM {item.text}")
        word = self.one("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT")
        return f"{sides[0]} {word} {sides[1]}", {y: "boolean", a: "number"}


def drawn(seed: int, dialect: str) -> str:
    return Drawing(np.random.default_rng([seed, 7]), dialect).select(2)[0]


def check(engine: Engine, seed: int) -> str:
    """Which way the query took."""
    with tables(engine, np.random.default_rng(seed)):
        text = drawn(seed, engine.dialect)
        try:
            with made_flat(engine, text) as names:
                found = same_as_flat(engine, text, names[0], "drop" if seed % 2 else "mean", names)
                if seed % 4 == 0 and "trained" in found:
                    same_optimum(engine, text, names[0])
        except BaseException as error:
            error.add_note(text)
            raise
        return found


@contextmanager
def made_flat(engine: Engine, text: str) -> Iterator[list[str]]:
    """A table with the result of the query, and the names of its columns. A second output x is called x_2. Without one,
    names are not given by place: DuckDB leaves the common columns of a natural join where they are."""
    names = list(dict.fromkeys(f.name for f in read_query(engine, text).features))
    given = f"({_listed(names)})" if any(name.endswith("_2") for name in names) else ""
    run(engine, f"CREATE TABLE flat AS SELECT * FROM ({text}) AS q{given}")
    yield names
    run(engine, "DROP TABLE flat")


def _listed(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def same_as_flat(engine: Engine, text: str, label: str, nulls: Nulls, names: list[str]) -> str:
    """The rows of the query, and their numbers, are those of its result as a table."""
    flat, query = f"SELECT {_listed(names)} FROM flat", read_query(engine, text, label=label)
    outputs = [(sql.named(name, "q"), name) for name in names]
    rows = rows_of(engine.fetch(sql.select(outputs, sql.aliased(render(query), "q"))))
    assert rows == rows_of(asked(engine, flat)), "rows"
    made = [relation.alias for relation in query.relations if relation.once]
    way = "whole" if RESULT in made else "part" if made else "folded"
    mine, table = (measured(engine, each, label, nulls) for each in (text, flat))
    if isinstance(mine, str) or isinstance(table, str):
        assert mine == table
        return f"{way}, {mine}"
    assert_equal(mine, table)
    return f"{way}, trained"


def assert_equal(mine: dict[str, float], other: dict[str, float]) -> None:
    """What only one of two plans measures is NaN in the other. No row of a join need have a NULL of its tables."""
    for name in mine.keys() | other.keys():
        pair = mine.get(name, 0.0), other.get(name, 0.0)
        assert np.isnan(pair).any() or pair[0] == pytest.approx(pair[1], rel=1e-9, abs=1e-9), name


def measured(engine: Engine, text: str, label: str, nulls: Nulls) -> dict[str, float] | str:
    """What is known of the rows; or why there is no training."""
    try:
        with open_problem(engine, text, ProblemOptions(label, nulls=nulls, scale="standard")) as problem:
            return _numbers(problem)
    except DataError as error:
        if "has no rows" in error.message or "one class only" in error.message or "is NULL in" in error.message:
            return re.sub("[0-9,]+", "", error.message)
        raise


def _numbers(problem: Data) -> dict[str, float]:
    """N, the negative rows, the mean of each number, and the sum in negative rows of what is measured from 0."""
    moments, design = problem.moments, problem.plan.design
    found = {"n": moments.n, "negative": moments.n_negative} | means(design, moments)
    for c in design.coordinates:
        if not any(term.origin for term in design.numbers.get(c.feature, ())):
            key = f"{c.feature} {c.role} of negatives"
            found[key] = found.get(key, 0.0) + moments.total_negative[c.index]
    return found


def same_optimum(engine: Engine, text: str, label: str) -> None:
    asks = {"m": training(label, lam=0.1, nulls="mean", tol=1e-6)}
    model, flat = (trained(engine, each, asks)[0] for each in (text, "SELECT * FROM flat"))
    assert model.objective == pytest.approx(flat.objective, rel=1e-4)
    assert model.lower_bound <= flat.objective_upper
    assert flat.lower_bound <= model.objective_upper
