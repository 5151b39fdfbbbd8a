"""The working tables of a plan: what the query reads, dictionaries of categories, nodes worth a copy."""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import most_frequent
from sqlsvm.compile.moments import counts_of
from sqlsvm.compile.prepare import codes_table, key, node_table, prepare_derived
from sqlsvm.compile.scores import rows, source
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.design import Dictionary
from sqlsvm.plan.plan import Plan
from sqlsvm.query.rows import met_rows_of


def working_tables(plan: Plan) -> Iterator[Statement]:
    yield from prepare_derived(plan.tree.query)
    for d in plan.design.dictionaries:
        if not d.listed or d.limited:
            yield statement(f"categories of {d.feature}", _dictionary(plan, d), d.table)
    for node in sorted(plan.copied, key=lambda node: node == plan.label_node):
        yield statement(f"rows of {plan.tree.name(node)}", copy(plan, node), node_table(node))
    for v in sorted({v for link in plan.links for v in link.edge.on}):
        yield statement(f"codes of variable {v}", _codes(plan, v), codes_table(v))


def _codes(plan: Plan, v: int) -> exp.Select:
    """SELECT k, a number g for every value of a variable that one of its holders has. That is enough for the others: a
    value that a holder lacks is in no join row."""
    node = next(link.edge.left for link in plan.links if v in link.edge.on)
    g = exp.cast(sql.row_number(key(v)), exp.DType.BIGINT)
    return sql.select([(sql.column(key(v)), "k"), (g, "g")], sql.derived(sql.distinct(source(plan, node), key(v)), "d"))


def _dictionary(plan: Plan, d: Dictionary) -> exp.Select:
    """SELECT v, its place n in theta. It begins where the dictionaries before it end, in the order of the design. The
    statement counts them itself, so its text does not depend on how many categories there are."""
    before: list[exp.Expression] = []
    for other in plan.design.dictionaries[: d.number]:
        size = sql.select([(exp.Count(this=exp.Star()), "n")], sql.table(other.table)).subquery()
        before.append(sql.integer(len(other.categories)) if other.listed and not other.limited else size)
    place = sql.plus(len(plan.design.coordinates), *before, sql.row_number("v"))
    rows = met_rows_of(plan.tree.query, d.relation, d.through, [(d.value.copy(), "v")])
    values = most_frequent(plan.tree, d) if d.limited else sql.distinct(sql.derived(rows, "r"))
    return sql.select([(sql.column("v"), "v"), (place, "n")], sql.derived(values, "d"))


def copy(plan: Plan, node: int) -> exp.Select:
    """If it is merged, equal rows are there once, with their number, or the sum of their weights, as w."""
    found = _rows(plan, node)
    if node not in plan.merged:
        return found
    size = sql.total("w") if "w" in found.named_selects else sql.count()
    return sql.grouped(sql.columns(n for n in found.named_selects if n != "w"), [(size, "w")], sql.derived(found, "r"))


def _rows(plan: Plan, node: int) -> exp.Select:
    """The label's rows only if they have a partner in the tables that they point to: no message has to look for it
    again. Where another query looks if all have one, those without a key do not get there."""
    found = rows(plan, node)
    if node != plan.label_node or not plan.foreign:
        return found
    counts, own = counts_of(plan, apart=False), "l"
    keys = {key(v) for edge in plan.foreign.values() for v in edge.on}
    kept = sql.select(sql.columns(found.named_selects, own), sql.derived(found, own))
    for child, edge in plan.met.items():
        name = node_table(child)
        kept = sql.join(kept, sql.derived(counts.entries(child, edge), name), sql.same(map(key, edge.on), own, name))
    return sql.where(kept, *(sql.not_null(sql.column(k, own)) for k in sorted(keys)))
