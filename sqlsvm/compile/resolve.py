"""From a count c for each row of a core to answers for its coordinates, and back along the folds to what folds into it.

What is answered for one node is up to an `Answer`: `sums` adds up c times every coordinate; `value_counts` adds up c
over every value of every feature.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import by_category, number_column
from sqlsvm.compile.prepare import Name, key
from sqlsvm.compile.scores import source, total_at
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.design import Coordinate, Dictionary
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.plan import Plan
from sqlsvm.sql import Named

COUNT = "c"
AT_ONCE = "sums of all"

Answer = Callable[[Plan, int, exp.Expr], Iterator[Statement]]
"""The statements for the coordinates of one node, from an item of FROM called r with its columns and the count c."""

Asked = Callable[[int], bool]  # is anything asked of this node?
CELLS = 256  # combinations of categories that are few enough to be summed up in one scan


counts_table: Name = "sqlsvm_c{}".format  # what was counted, grouped back to the key of a node that folds in
sums_name: Name = "sums {}".format


def category_name(dictionary: Dictionary) -> str:
    return f"categories {dictionary.number}"


def values_name(coordinate: Coordinate) -> str:
    return f"values {coordinate.index}"


def resolve(
    plan: Plan, node: int, counted: exp.Expr, answer: Answer, asked: Asked | None = None
) -> Iterator[Statement]:
    """The answers for a node and everything that folds into it, as far as it leads to a node that is asked: one with
    features, if nothing else is said."""
    asked = asked or plan.featured
    yield from answer(plan, node, counted)
    for child, edge in plan.folded(node):
        if any(map(asked, plan.together(child))):
            yield from _back(plan, child, edge, counted, answer, asked)


def _back(plan: Plan, child: int, edge: Edge, counted: exp.Expr, answer: Answer, asked: Asked) -> Iterator[Statement]:
    """The counts of the parent's rows, added up over its key, are the counts of the child's row with that key. They are
    no table where one statement looks at them."""
    names, c = [key(v) for v in edge.on], sql.column(COUNT, "r")
    keys = [*names, *plan.parts]
    size = sql.total(c) if keys else sql.sum_or_zero(c)  # without keys there is one row even if nothing was counted
    grouped = sql.grouped(sql.columns(keys, "r"), [(size, COUNT)], counted)
    counts: exp.Expr = sql.table(counts_table(child), "t")
    if readers(plan, child, answer, asked) == 1:
        counts = sql.derived(grouped, "t")
    else:
        yield statement(f"counts back to {plan.tree.name(child)}", grouped, counts_table(child))
    added = [COUNT, *(plan.parts if child != plan.label_node else ())]
    everything = [exp.Column(this=exp.Star(), table=exp.to_identifier("q")), *(sql.column(n, "t") for n in added)]
    met = sql.join(exp.select(*everything).from_(counts), source(plan, child, "q"), sql.same(names, "q", "t"))
    yield from resolve(plan, child, sql.derived(met, "r"), answer, asked)


def readers(plan: Plan, node: int, answer: Answer, asked: Asked) -> int:
    """How many statements will read what was counted at a node: only that, so from a bare table."""
    below = sum(any(map(asked, plan.together(child))) for child, _ in plan.folded(node))
    answers = answer(plan, node, sql.table(counts_table(node), "r"))
    return below + sum(len(sql.narrow(each.query)) for each in answers)


# -- answers -----------------------------------------------------------------------------------------------------------


def sums(plan: Plan, node: int, counted: exp.Expr, totals: Named | None = None) -> Iterator[Statement]:
    """SELECT SUM(c * x7) AS x7, ..., and other totals if asked for; for a dictionary SELECT n, SUM(c) AS c. Where the
    categories are few, one statement has it all, by combination of categories: its reader adds them up."""
    parts, added = plan.parts, _totals(plan, plan.coordinates(node), totals)
    if together := cells(plan.dictionaries(node)):
        numbers = [(d, number_column(d)) for d in together]
        yield statement(sums_name(node), by_category(numbers, [*added, *sql.totals([COUNT], "r")], counted, parts))
    elif added:
        yield statement(sums_name(node), _by_part(added, counted, parts))
    for d in plan.dictionaries(node):
        if d not in together:
            yield statement(category_name(d), by_category([(d, "n")], sql.totals([COUNT], "r"), counted, parts))


def sums_at_once(plan: Plan, counted: exp.Expr, totals: Named) -> Statement:
    """SELECT SUM(c * x7) AS x7, ... for the coordinates of all nodes, from rows that have them all."""
    every = [x for node in range(len(plan.tree.nodes)) for x in plan.coordinates(node)]
    return statement(AT_ONCE, _by_part(_totals(plan, every, totals), counted, plan.parts))


def _totals(plan: Plan, coordinates: Iterable[Coordinate], totals: Named | None) -> Named:
    c, others = sql.column(COUNT, "r"), [(sql.sum_or_zero(value), name) for value, name in totals or []]
    return [*others, *((total_at(plan, x, c, "r"), x.column) for x in coordinates)]


def _by_part(sums: Named, counted: exp.Expr, parts: Sequence[str] = ()) -> exp.Select:
    """SELECT the sums; those of each part, if there are parts."""
    return sql.grouped(sql.columns(parts, "r"), sums, counted)


def cells(dictionaries: Sequence[Dictionary]) -> tuple[Dictionary, ...]:
    few = tuple(d for d in dictionaries if d.listed)
    return few if prod(len(d.categories) for d in few) <= CELLS else ()


def value_counts(plan: Plan, node: int, counted: exp.Expr) -> Iterator[Statement]:
    """For every feature SELECT its value, SUM(c) AS c; a missing number is its own value."""
    counts = sql.totals([COUNT], "r")
    for c in plan.coordinates(node):
        if c.role == "value":
            yield statement(values_name(c), sql.grouped([(c.raw("r"), "value")], counts, counted))
    for d in plan.dictionaries(node):
        yield statement(category_name(d), by_category([(d, "n")], counts, counted))
