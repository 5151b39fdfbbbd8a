"""Random forms of a query over a world: what is folded, what a part or the whole is made of."""

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from tests.ground.world import World

FORMS = ["plain", "plain", "value", "exists", "in", "order", "distinct", "limit", "union", "group", "window"]


def formed(live: World, select: exp.Select, rng: np.random.Generator, numbers: Sequence[exp.Expression]) -> exp.Query:
    """The query with one of these forms, if the world has the columns for it."""
    form = FORMS[int(rng.integers(len(FORMS)))]
    if form in ("value", "exists", "in", "order"):
        return _over_two(live, select, rng, numbers, form)
    if form == "distinct":
        return select.distinct()
    if form == "limit":
        places = [sql.integer(n) for n in range(1, 1 + len(select.selects))]
        return select.order_by(*places).limit(int(rng.integers(1, 30)))
    if form == "union":
        kind = (exp.Union, exp.Except, exp.Intersect)[int(rng.integers(3))]
        distinct = kind is not exp.Union or rng.random() < 0.5
        return kind(this=select, expression=select.copy(), distinct=distinct)
    if form == "group":
        keys = [item.unalias().copy() for item in select.selects]
        return select.select(exp.alias_(exp.Count(this=exp.Star()), "rows_of_it")).group_by(*keys)
    if form == "window" and numbers:
        total = exp.Window(this=exp.Sum(this=numbers[0].copy()), partition_by=[select.selects[0].unalias().copy()])
        return select.select(exp.alias_(total, "so_many"))
    return select


def _over_two(
    live: World, select: exp.Select, rng: np.random.Generator, numbers: Sequence[exp.Expression], form: str
) -> exp.Select:
    """The inner relation hides the outer one of its name."""
    if len(numbers) < 2:
        return select
    mine, theirs = (numbers[int(i)] for i in rng.permutation(len(numbers))[:2])
    if form == "order":
        return select.where(*_ordered(rng, mine, theirs))
    alias = next(c.table for c in theirs.find_all(exp.Column))
    below = exp.LT(this=theirs.copy(), expression=mine.copy())
    inner = exp.select().from_(live.source(alias))
    if form == "value":
        aggregate = (exp.Max, exp.Count, exp.Avg)[int(rng.integers(3))]
        value = inner.select(aggregate(this=theirs.copy())).where(below).subquery()
        return select.select(exp.alias_(value, "computed"))
    if form == "exists":
        found: exp.Expression = exp.Exists(this=inner.select("1").where(below))
    else:
        found = exp.In(this=mine.copy(), query=inner.select(theirs.copy()).subquery())
    return select.where(found if rng.random() < 0.5 else exp.not_(found))


def _ordered(rng: np.random.Generator, mine: exp.Expression, theirs: exp.Expression) -> list[exp.Expression]:
    """One condition, the two ends of an interval, or BETWEEN."""
    kind = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NEQ)[int(rng.integers(5))]
    low, high = (exp.Sub(this=theirs.copy(), expression=sql.integer(n)) for n in (int(rng.integers(5)), -2))
    one, other = kind(this=mine.copy(), expression=theirs.copy()), exp.GTE(this=mine.copy(), expression=low)
    band = exp.Between(this=mine.copy(), low=low.copy(), high=high)
    ways: list[list[exp.Expression]] = [[one], [one, other], [band]]
    return ways[int(rng.integers(3))]
