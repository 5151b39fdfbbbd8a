"""From a count c for each row of a core to a sum for each coordinate: c times x, and grouped back along the folds.

Every statement answers with columns named after coordinates, x7 = SUM(c * x7), or, for a dictionary, with rows (n, c).
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.prepare import key
from sqlsvm.compile.scores import source
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.design import Dictionary
from sqlsvm.join_tree import Edge
from sqlsvm.plan import Plan

COUNT = "c"


def counts_table(node: int) -> str:
    """What was counted at the core, grouped back to the key of a node that folds into it."""
    return f"sqlsvm_c{node}"


def sums_name(node: int) -> str:
    return f"sums {node}"


def category_name(dictionary: Dictionary) -> str:
    return f"categories {dictionary.number}"


def resolve(plan: Plan, node: int, counted: exp.Expr) -> Iterator[Statement]:
    """`counted` is an item of FROM called r, with the columns of the node and its count c."""
    coordinates = plan.coordinates(node)
    if coordinates:
        sums = [(_weighed(sql.column(c.column, "r")), c.column) for c in coordinates]
        yield statement(sums_name(node), sql.select(sums, counted.copy()))
    for d in plan.dictionaries(node):
        yield statement(category_name(d), _by_category(d, counted))
    for child, edge in plan.folded(node):
        if reaches_features(plan, child):
            yield from _back(plan, child, edge, counted)


def reaches_features(plan: Plan, node: int) -> bool:
    own = plan.coordinates(node) or plan.dictionaries(node)
    return bool(own) or any(reaches_features(plan, child) for child, _ in plan.folded(node))


def _weighed(value: exp.Expression) -> exp.Expression:
    return sql.coalesce(sql.total(sql.product(sql.column(COUNT, "r"), value)), sql.number(0))


def _by_category(d: Dictionary, counted: exp.Expr) -> exp.Select:
    """SELECT n, SUM(c) FROM counted JOIN dictionary GROUP BY n, grouped by the category itself first."""
    value = sql.column(d.column, "r")
    grouped = sql.select([(value, d.column), (sql.total(sql.column(COUNT, "r")), COUNT)], counted.copy())
    groups = sql.derived(sql.group(grouped, [value.copy()]), "g")
    found = sql.select([(sql.column("n", d.table), "n"), (sql.column(COUNT, "g"), COUNT)], groups)
    return sql.join(found, exp.to_table(d.table), [sql.equal(sql.column("v", d.table), sql.column(d.column, "g"))])


def _back(plan: Plan, child: int, edge: Edge, counted: exp.Expr) -> Iterator[Statement]:
    """The counts of the parent's rows, added up over its key, are the counts of the child's row with that key."""
    keys = [sql.column(key(v), "r") for v in edge.on]
    summed = sql.select([*((k, k.name) for k in keys), (sql.total(sql.column(COUNT, "r")), COUNT)], counted.copy())
    table = counts_table(child)
    yield statement(f"counts back to {plan.tree.name(child)}", sql.group(summed, [k.copy() for k in keys]), table)
    everything = [exp.Column(this=exp.Star(), table=exp.to_identifier("q")), sql.column(COUNT, "t")]
    meet = [sql.equal(sql.column(key(v), "q"), sql.column(key(v), "t")) for v in edge.on]
    met = exp.select(*everything).from_(exp.alias_(exp.to_table(table), "t", table=True))
    yield from resolve(plan, child, sql.derived(sql.join(met, source(plan, child, "q"), meet), "r"))
