"""Sizes and moments of the virtual join: N, and of every coordinate the sum, the sum of squares, the largest |x|, and
the sum over the rows with y = -1. One scan of each node against its count messages."""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import Counts
from sqlsvm.compile.scores import source
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan import Plan


def counts_of(plan: Plan) -> Counts:
    """The count messages over the sources of a plan, rooted at the label."""
    tree = plan.tree.rerooted(plan.label_node)
    return Counts(tree, lambda node: source(plan, node, "n"), plan.weighted, signed=True)


def moments(plan: Plan) -> Iterator[Statement]:
    counts = counts_of(plan)
    yield from counts.messages()
    root = counts.tree.root
    sizes = [(_sum(counts.total(root)), "n"), (_sum(counts.negative(root)), "n_negative")]
    unlabelled = sql.case(sql.is_null(sql.column("y", "n")), counts.total(root), sql.number(0))
    sizes.append((_sum(unlabelled), "n_unlabelled"))
    yield statement("sizes", counts.joined(root, sizes))
    for node in range(len(plan.tree.nodes)):
        yield from _of_node(plan, counts, node)


def moments_name(node: int) -> str:
    return f"moments {node}"


def category_moments_name(number: int) -> str:
    return f"category moments {number}"


def _of_node(plan: Plan, counts: Counts, node: int) -> Iterator[Statement]:
    """The products are made once in a sub-query; the sums over them are cheap."""
    coordinates, dictionaries = plan.coordinates(node), plan.dictionaries(node)
    if not coordinates and not dictionaries:
        return
    columns = [(c.of("n"), c.column) for c in coordinates if c.role != "intercept"]
    columns += [(sql.column(d.column, "n"), d.column) for d in dictionaries]
    rows = counts.joined(node, [*columns, (counts.total(node), "total"), (counts.negative(node), "negative")])
    if coordinates:
        yield statement(moments_name(node), sql.select(list(_measures(plan, node)), sql.derived(rows, "t")))
    for d in dictionaries:
        v = sql.column(d.column, "t")
        sums = [(v, d.column), *((sql.total(sql.column(c, "t")), c) for c in ("total", "negative"))]
        grouped = sql.derived(sql.group(sql.select(sums, sql.derived(rows.copy(), "t")), [v.copy()]), "g")
        found = sql.select([(sql.column("n", d.table), "n"), *((sql.column(c, "g"), c) for c in ("total", "negative"))])
        meet = [sql.equal(sql.column("v", d.table), sql.column(d.column, "g"))]
        yield statement(category_moments_name(d.number), sql.join(found.from_(grouped), exp.to_table(d.table), meet))


def _measures(plan: Plan, node: int) -> Iterator[tuple[exp.Expression, str]]:
    total, negative = sql.column("total", "t"), sql.column("negative", "t")
    for c in plan.coordinates(node):
        x = c.of("t")
        yield _sum(sql.product(total, x)), f"total{c.index}"
        yield _sum(sql.product(total, x, x)), f"squares{c.index}"
        yield sql.coalesce(sql.largest(exp.Abs(this=x.copy())), sql.number(0)), f"largest{c.index}"
        yield _sum(sql.product(negative, x)), f"negative{c.index}"


def _sum(expression: exp.Expression) -> exp.Expression:
    return sql.coalesce(sql.total(expression), sql.number(0))
