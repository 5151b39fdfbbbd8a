"""Random queries that group a join, over small tables with NULLs, ties and duplicate keys: some of them are empty."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine, Rows
from sqlsvm.query.folding.fold import groups_of
from tests.typed import asked, own_schema, run

TABLES = ("r", "s", "t", "u")
_COLUMNS = "k INT, j INT, x INT, d FLOAT8, n NUMERIC(8, 2), b BOOLEAN, w VARCHAR"


@contextmanager
def tables(engine: Engine, rng: np.random.Generator) -> Iterator[None]:
    """In a schema of their own, which is gone afterwards."""
    with own_schema(engine, "grouping"):
        for name in TABLES:
            run(engine, f"CREATE TABLE {name} ({_COLUMNS})")
            rows = [_row(rng) for _ in range(int(rng.integers(0, 9)) if rng.random() < 0.9 else 0)]
            if rows:
                run(engine, f"INSERT INTO {name} VALUES {', '.join(rows)}")
        yield


def _row(rng: np.random.Generator) -> str:
    values = [
        str(rng.integers(0, 3)),
        str(rng.integers(0, 3)),
        str(rng.integers(-5, 9)),
        str(float(rng.integers(-8, 9)) / 4),
        str(float(rng.integers(-800, 900)) / 100),
        ("TRUE", "FALSE")[int(rng.integers(2))],
        ("'a'", "'b'", "'c'")[int(rng.integers(3))],
    ]
    return f"({', '.join('NULL' if rng.random() < 0.15 else v for v in values)})"


def drawn(rng: np.random.Generator) -> str:
    """The text of a query."""
    names = list(TABLES[: int(rng.integers(2, 5))])
    joins, optional = [names[0]], list[str]()
    for n, name in enumerate(names[1:], 1):
        other = names[int(rng.integers(n))]
        joins.append(_join(rng, name, other, names[:n]))
        optional += [name] if "LEFT" in joins[-1] else []
    values = _Values(rng, names)
    keys = [values.key() for _ in range(int(rng.integers(0, 4)))]
    found = [f"{key} AS g{n}" for n, key in enumerate(keys)]
    found += [f"{values.aggregate()} AS a{n}" for n in range(int(rng.integers(1, 5)))]
    text = f"SELECT {', '.join(found)} FROM {' '.join(joins)}"
    if rng.random() < 0.4:
        text += f" WHERE {values.condition()}"
    if keys:
        by = [str(n + 1) if rng.random() < 0.2 else key for n, key in enumerate(keys)]
        text += f" GROUP BY {', '.join(by)}"
    if rng.random() < 0.2:
        text += f" HAVING {values.aggregate('COUNT')} > 1"
    return text


def _join(rng: np.random.Generator, name: str, other: str, before: list[str]) -> str:
    kind = "LEFT JOIN" if rng.random() < 0.35 else "JOIN"
    key, its = ("kj"[int(n)] for n in rng.integers(0, 2, 2))
    on = [f"{name}.{key} = {other}.{its}"]
    if rng.random() < 0.1 and kind == "JOIN":
        return f"CROSS JOIN {name}"
    if rng.random() < 0.15:
        more = other if kind == "LEFT JOIN" else before[int(rng.integers(len(before)))]
        on.append(f"{name}.{'kj'[int(rng.integers(2))]} = {more}.{'kj'[int(rng.integers(2))]}")
    if rng.random() < 0.2:
        on.append(f"{name}.x > {rng.integers(-5, 5)}")
    return f"{kind} {name} ON {' AND '.join(on)}"


class _Values:
    def __init__(self, rng: np.random.Generator, names: list[str]) -> None:
        self.rng, self.names = rng, names

    def one(self, *of: str) -> str:
        return of[int(self.rng.integers(len(of)))]

    def table(self) -> str:
        return self.one(*self.names)

    def key(self) -> str:
        a, b = self.table(), self.table()
        return self.one(f"{a}.k", f"{a}.w", f"{a}.b", f"{a}.x / 3", f"{a}.j + {b}.k", f"COALESCE({a}.k, 7)", f"{a}.d")

    def number(self) -> str:
        a, b, c = self.table(), self.table(), self.table()
        return self.one(
            f"{a}.x",
            f"{a}.d",
            f"{a}.n",
            f"{a}.x * {b}.d",
            f"{a}.x + {b}.x",
            f"{a}.n * ({b}.x - {c}.n)",
            f"-{a}.x * {b}.x",
            f"COALESCE({a}.x, 0)",
            f"CASE WHEN {a}.b THEN {a}.x ELSE 1 END",
            f"CASE WHEN {a}.b THEN {b}.x ELSE 1 END",
            f"COALESCE({a}.x, {b}.x)",
            f"2 * {a}.x - {b}.d",
        )

    def condition(self) -> str:
        a, b = self.table(), self.table()
        return self.one(
            f"{a}.x > 0", f"{a}.b", f"{a}.w <> 'a'", f"{a}.k IS NULL", f"{a}.x < {b}.x", f"{a}.b AND {b}.x > 1"
        )

    def aggregate(self, name: str | None = None) -> str:
        name = name or self.one("COUNT(*)", "COUNT", "COUNT", "SUM", "SUM", "AVG", "MIN", "MAX", "BOOL", "SD")
        among = f" FILTER (WHERE {self.condition()})" if self.rng.random() < 0.3 else ""
        if name == "COUNT(*)":
            return name + among
        if name == "BOOL":
            return f"{self.one('BOOL_AND', 'BOOL_OR')}({self.condition()}){among}"
        if name == "COUNT":
            return f"COUNT({self.one(self.number(), self.table() + '.w', self.table() + '.b')}){among}"
        if name == "SD":
            return f"{self.one('STDDEV', 'STDDEV_POP', 'STDDEV_SAMP')}({self.number()}){among}"
        if name in ("MIN", "MAX"):
            return f"{name}({self.one(self.number(), self.table() + '.w')}){among}"
        return f"{name}({self.number()}){among}"


def check(engine: Engine, seed: int) -> str:
    """Are the rows of the folded query those of the query?"""
    rng = np.random.default_rng(seed)
    with tables(engine, rng):
        text = drawn(rng)
        try:
            typed = parse_one(text, read=engine.dialect)
            assert isinstance(typed, exp.Select)
            select = engine.bound(typed)
            found = groups_of(select, (), engine, always=True)
            if found is None:
                return "stays"
            assert [c.type for c in engine.describe(found)] == [c.type for c in engine.describe(select)]
            wanted = rows_of(asked(engine, text))
            got = rows_of(engine.fetch(found))
            assert got == wanted, (got - wanted, wanted - got)
        except BaseException as error:
            error.add_note(text)
            raise
    return "folded"


def rows_of(found: Rows) -> Counter[tuple[str, ...]]:
    columns = [[_text(v) for v in values.tolist()] for values in found.values()]
    return Counter(zip(*columns, strict=True))


def _text(value: object) -> str:
    """Doubles are equal up to the last digits."""
    if value is None or value != value:
        return "None"
    if isinstance(value, int | float):
        return f"{round(float(value), 7) + 0.0:.9g}"
    return str(value)
