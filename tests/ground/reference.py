"""The naive oracle: run the user's own query, look at every row of the join, count."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from sqlglot import exp

from sqlsvm.engine.base import Engine, Values
from sqlsvm.query import Equality, Feature, Term
from tests.ground.world import World
from tests.typed import asked

Key = tuple[object, ...]


@dataclass(frozen=True)
class Joined:
    """The materialised join, its rows sorted by row ids."""

    row_ids: dict[str, Values]
    """Alias -> row id of each join row, -1 where a LEFT JOIN found no match."""
    features: dict[str, Values]
    """Numbers and booleans as float with nan for NULL; categories as str with None for NULL."""
    label: Values | None
    """As the query returns it, in floats; nan for NULL."""

    @property
    def rows(self) -> int:
        return len(next(iter(self.row_ids.values())))


@dataclass(frozen=True)
class Side:
    """One relation of an edge, after its own filters."""

    rows: int
    null_keys: int
    dangling: int
    """Rows with a key that has no NULL in it, and without a partner on the other side."""
    multiplicity: int
    """The most rows that share one such key; 0 if there is none."""


class Reference:
    """What is true of a world's join in a database that holds the world (see `World.create`)."""

    def __init__(self, engine: Engine, world: World) -> None:
        self.engine = engine
        self.world = world

    @cached_property
    def joined(self) -> Joined:
        """Runs the query's own FROM and WHERE, with row ids, features and label as the select list."""
        world = self.world
        ids = [exp.alias_(world.row_id(i.alias), f"r{n}") for n, i in enumerate(world.items)]
        outputs = [exp.alias_(_plain(o), f"f{n}") for n, o in enumerate(world.outputs)]
        with naive(self.engine):
            fetched = asked(self.engine, world.select([*ids, *outputs]))
        columns = list(fetched.values())
        row_ids = [np.nan_to_num(c.astype(float), nan=-1).astype(np.int64) for c in columns[: len(ids)]]
        order = np.lexsort(row_ids[::-1])
        values = {o.name: _tidy(c, o)[order] for o, c in zip(world.outputs, columns[len(ids) :], strict=True)}
        return Joined(
            row_ids={i.alias: r[order] for i, r in zip(world.items, row_ids, strict=True)},
            features={f.name: values[f.name] for f in world.features},
            label=values[world.label.name] if world.label else None,
        )

    def materialise(self) -> Joined:
        return self.joined

    @property
    def join_rows(self) -> int:
        return self.joined.rows

    @property
    def label_rows(self) -> dict[int, int]:
        """Join rows per label -1 and 1; the larger of the two values is the positive one."""
        positive = int(np.sum(self.signs > 0))
        return {-1: self.join_rows - positive, 1: positive}

    @property
    def signs(self) -> Values:
        assert self.joined.label is not None, "this world has no label"
        return np.where(self.joined.label > 0, 1.0, -1.0)

    def survivors(self, alias: str) -> int:
        """How many of the relation's rows occur in the join."""
        ids = self.joined.row_ids[alias]
        return len(np.unique(ids[ids >= 0]))

    def rows(self, alias: str) -> int:
        """count(*) of the relation as it stands in FROM, the query's filters not applied."""
        return len(self._fetch(alias, [self.world.row_id(alias)], ())[0])

    def edge(self, left: str, right: str) -> tuple[Side, Side] | None:
        """The two sides of the edge over all that equates the two relations, or None if nothing does.

        Transitive equalities count. So do equalities inside one relation: a row that contradicts itself is filtered."""
        keys = self.shared_terms(left, right)
        if not keys:
            return None
        left_keys = self._keys(left, [k for k, _ in keys])
        right_keys = self._keys(right, [k for _, k in keys])
        return _side(left_keys, right_keys), _side(right_keys, left_keys)

    def edges(self) -> dict[tuple[str, str], tuple[Side, Side]]:
        """All pairs of relations that have an edge, in the order of FROM."""
        found = {(a.alias, b.alias): self.edge(a.alias, b.alias) for a, b in combinations(self.world.items, 2)}
        return {pair: edge for pair, edge in found.items() if edge}

    def shared_terms(self, left: str, right: str) -> list[tuple[exp.Expression, exp.Expression]]:
        """Pairs of expressions, of the one and of the other relation, that the query makes equal."""
        for join in self.world.left_joins:
            if {join.parent, join.relation} == {left, right}:
                pairs = [(e.left.expression, e.right.expression) for e in join.equalities]
                return pairs if join.parent == left else [(b, a) for a, b in pairs]
        groups = [[[t.expression for t in c if t.relation == a] for a in (left, right)] for c in self.classes]
        return [(mine[0], theirs[0]) for mine, theirs in groups if mine and theirs]

    @cached_property
    def classes(self) -> list[list[Term]]:
        """The terms of the inner joins, those together that are transitively equal."""
        return equality_classes(self.world.equalities)

    def _keys(self, alias: str, terms: Sequence[exp.Expression]) -> list[Key]:
        """The key of every row that passes the relation's own filters."""
        item = self.world.item(alias)
        inside = [[t.expression for t in c if t.relation == alias] for c in self.classes]
        agree = [exp.EQ(this=c[0].copy(), expression=t.copy()) for c in inside for t in c[1:]]
        columns = self._fetch(alias, [t.copy() for t in terms], (*item.filters, *agree))
        return list(zip(*(c.tolist() for c in columns), strict=True))

    def _fetch(self, alias: str, outputs: Sequence[exp.Expression], filters: Iterable[exp.Expression]) -> list[Values]:
        listed = [exp.alias_(o, f"c{n}") for n, o in enumerate(outputs)]
        query = exp.Select(expressions=listed).from_(self.world.source(alias), copy=False)
        return list(asked(self.engine, query.where(*(f.copy() for f in filters), copy=False)).values())


@contextmanager
def naive(engine: Engine) -> Iterator[None]:
    """DuckDB 2.0.0 reorders LEFT JOINs across a filter that sees their NULLs, and loses rows (near duckdb#23688)."""
    if engine.dialect != "duckdb":
        yield
        return
    engine.execute(_disabled_optimizers("join_order"))
    try:
        yield
    finally:
        engine.execute(_disabled_optimizers(""))


def _disabled_optimizers(names: str) -> exp.Set:
    setting = exp.EQ(this=exp.column("disabled_optimizers"), expression=exp.Literal.string(names))
    return exp.Set(expressions=[exp.SetItem(this=setting)])


def equality_classes(equalities: Sequence[Equality]) -> list[list[Term]]:
    """Terms that are transitively equal, by merging what touches."""
    classes: list[list[Term]] = []
    for equality in equalities:
        ends = [equality.left, equality.right]
        touching = [c for c in classes if any(t in c for t in ends)]
        known = [t for c in touching for t in c]
        merged = known + [t for t in ends if t not in known]
        classes = [c for c in classes if c not in touching] + [merged]
    return classes


def _plain(output: Feature) -> exp.Expression:
    """The output in a type that every engine returns alike."""
    value = output.expression.copy()
    if output.kind == "categorical":
        return exp.cast(value, "text")
    return exp.cast(exp.cast(value, "int") if output.kind == "boolean" else value, "double")


def _tidy(values: Values, output: Feature) -> Values:
    return values.astype(object if output.kind == "categorical" else float)


def _side(mine: Sequence[Key], theirs: Sequence[Key]) -> Side:
    full = [k for k in mine if not _has_null(k)]
    partners = {k for k in theirs if not _has_null(k)}
    return Side(
        rows=len(mine),
        null_keys=len(mine) - len(full),
        dangling=sum(k not in partners for k in full),
        multiplicity=max(Counter(full).values(), default=0),
    )


def _has_null(key: Key) -> bool:
    return any(part is None or part != part for part in key)
