"""Random forms of a query over a world: what is folded, what a part or the whole is made of."""

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from tests.ground.world import World

FORMS = ["plain", "value", "exists", "in", "order", "distinct", "limit", "union", "group", "groups", "groups", "window"]


def nested(live: World, select: exp.Select, rng: np.random.Generator, numbers: Sequence[exp.Expression]) -> exp.Query:
    """The query with one form, or with two: the first is inside a sub-query or a CTE, and the second around it."""
    inner = formed(live, select, rng, numbers)
    if rng.random() < 0.6:
        return inner
    names = [exp.column(name, quoted=True) for name in inner.named_selects]
    around = exp.select(*names).from_(exp.alias_(inner.subquery(), "inner_rows", table=True))
    form = ("distinct", "group", "where", "cte")[int(rng.integers(4))]
    if form == "distinct":
        return around.distinct()
    if form == "group":
        rows = exp.alias_(exp.Count(this=exp.Star()), "of_them")
        return exp.select(*names, rows).from_(around.args["from_"].this).group_by(*(n.copy() for n in names))
    if form == "cte":
        return exp.select(*names).from_("inner_rows").with_("inner_rows", as_=inner)
    return around.where(exp.not_(exp.Is(this=names[0].copy(), expression=exp.null())))


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
    if form == "groups":
        return _grouped(live, select, rng, numbers)
    if form == "window" and numbers:
        total = exp.Window(this=exp.Sum(this=numbers[0].copy()), partition_by=[select.selects[0].unalias().copy()])
        return select.select(exp.alias_(total, "so_many"))
    return select


def _grouped(
    live: World, select: exp.Select, rng: np.random.Generator, numbers: Sequence[exp.Expression]
) -> exp.Select:
    """Grouped by the label and some of the outputs, with aggregates over numbers of any relations."""
    items = select.selects
    label = live.label.name if live.label else ""
    first = next((item for item in items if item.alias == label), items[0])
    keys = [first, *(item for item in items[:3] if item is not first and rng.random() < 0.5)]
    made = exp.select(*(item.copy() for item in keys))
    for clause in ("from_", "joins", "where", "with_"):
        if value := select.args.get(clause):
            made.set(clause, [each.copy() for each in value] if isinstance(value, list) else value.copy())
    for n in range(int(rng.integers(1, 4))):
        made = made.select(exp.alias_(_aggregate(rng, numbers), f"aggregate{n}"))
    return made.group_by(*(item.unalias().copy() for item in keys))


def _aggregate(rng: np.random.Generator, numbers: Sequence[exp.Expression]) -> exp.Expression:
    if not numbers or rng.random() < 0.3:
        return exp.Count(this=exp.Star())
    one, other = (numbers[int(n)].copy() for n in rng.integers(0, len(numbers), 2))
    way = (exp.Add, exp.Sub, exp.Mul)[int(rng.integers(3))]
    value = way(this=exp.paren(one), expression=exp.paren(other)) if rng.random() < 0.5 else one
    function = (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count, exp.VariancePop, exp.Stddev)[int(rng.integers(7))]
    made: exp.Expression = function(this=value)
    if rng.random() < 0.3:
        above = exp.GT(this=other.copy(), expression=sql.number(0))
        made = exp.Filter(this=made, expression=exp.Where(this=above))
    return made


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
