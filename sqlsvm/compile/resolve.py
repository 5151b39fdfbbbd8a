"""From a count c for each row of a core to answers for its coordinates, and back along the folds to what folds into it.

What is answered for one node is up to an `Answer`: `sums` adds up c times every coordinate; `value_counts` adds up c
over every value of every feature.
"""

from collections.abc import Callable, Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.prepare import key
from sqlsvm.compile.scores import source
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.design import Coordinate, Dictionary
from sqlsvm.join_tree import Edge
from sqlsvm.plan import Plan

COUNT = "c"

Answer = Callable[[Plan, int, exp.Expr], Iterator[Statement]]
"""The statements for the coordinates of one node, from an item of FROM called r with its columns and the count c."""


def counts_table(node: int) -> str:
    """What was counted at the core, grouped back to the key of a node that folds into it."""
    return f"sqlsvm_c{node}"


def sums_name(node: int) -> str:
    return f"sums {node}"


def category_name(dictionary: Dictionary) -> str:
    return f"categories {dictionary.number}"


def values_name(coordinate: Coordinate) -> str:
    return f"values {coordinate.index}"


def resolve(plan: Plan, node: int, counted: exp.Expr, answer: Answer) -> Iterator[Statement]:
    """The answers for a node and everything that folds into it."""
    yield from answer(plan, node, counted)
    for child, edge in plan.folded(node):
        if _reaches_features(plan, child):
            yield from _back(plan, child, edge, counted, answer)


def _reaches_features(plan: Plan, node: int) -> bool:
    own = plan.coordinates(node) or plan.dictionaries(node)
    return bool(own) or any(_reaches_features(plan, child) for child, _ in plan.folded(node))


def _back(plan: Plan, child: int, edge: Edge, counted: exp.Expr, answer: Answer) -> Iterator[Statement]:
    """The counts of the parent's rows, added up over its key, are the counts of the child's row with that key."""
    keys = [sql.column(key(v), "r") for v in edge.on]
    size = sql.total(sql.column(COUNT, "r"))
    if not keys:  # then there is one row even where nothing was counted
        size = sql.coalesce(size, sql.number(0))
    summed = sql.select([*((k, k.name) for k in keys), (size, COUNT)], counted.copy())
    table = counts_table(child)
    yield statement(f"counts back to {plan.tree.name(child)}", sql.group(summed, [k.copy() for k in keys]), table)
    everything = [exp.Column(this=exp.Star(), table=exp.to_identifier("q")), sql.column(COUNT, "t")]
    meet = [sql.equal(sql.column(key(v), "q"), sql.column(key(v), "t")) for v in edge.on]
    met = exp.select(*everything).from_(sql.table(table, "t"))
    yield from resolve(plan, child, sql.derived(sql.join(met, source(plan, child, "q"), meet), "r"), answer)


# -- answers -----------------------------------------------------------------------------------------------------------


def sums(plan: Plan, node: int, counted: exp.Expr) -> Iterator[Statement]:
    """SELECT SUM(c * x7) AS x7, ...; for a dictionary SELECT n, SUM(c) AS c."""
    coordinates = plan.coordinates(node)
    if coordinates:
        outputs = [(_summed(c.of("r")), c.column) for c in coordinates]
        yield statement(sums_name(node), sql.select(outputs, counted.copy()))
    for d in plan.dictionaries(node):
        yield statement(category_name(d), _by_category(d, counted))


def _summed(value: exp.Expression) -> exp.Expression:
    return sql.coalesce(sql.total(sql.product(sql.column(COUNT, "r"), value)), sql.number(0))


def _by_category(d: Dictionary, counted: exp.Expr) -> exp.Select:
    """SELECT n, SUM(c) FROM counted JOIN dictionary GROUP BY n, grouped by the category itself first; n is NULL for a
    row without a category."""
    value = sql.column(d.column, "r")
    grouped = sql.select([(value, d.column), (sql.total(sql.column(COUNT, "r")), COUNT)], counted.copy())
    groups = sql.derived(sql.group(grouped, [value.copy()]), "g")
    found = sql.select([(sql.column("n", d.table), "n"), (sql.column(COUNT, "g"), COUNT)], groups)
    meet = [sql.equal(sql.column("v", d.table), sql.column(d.column, "g"))]
    return sql.join(found, exp.to_table(d.table), meet, "left")


def value_counts(plan: Plan, node: int, counted: exp.Expr) -> Iterator[Statement]:
    """For every feature SELECT its value, SUM(c) AS c; a missing number is its own value."""
    missing = {c.feature: c for c in plan.coordinates(node) if c.role == "missing"}
    for c in plan.coordinates(node):
        if c.role == "value":
            value: exp.Expression = sql.column(c.column, "r")
            if c.feature in missing:
                absent = exp.GT(this=sql.column(missing[c.feature].column, "r"), expression=sql.integer(0))
                value = sql.case(absent, exp.null(), value)
            found = sql.select([(value, "value"), (sql.total(sql.column(COUNT, "r")), COUNT)], counted.copy())
            yield statement(values_name(c), sql.group(found, [value.copy()]))
    for d in plan.dictionaries(node):
        yield statement(category_name(d), _by_category(d, counted))
