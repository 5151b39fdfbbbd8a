"""K rows of the join, drawn uniformly without making it: first a row of the root, then one for each child of each row.

A row of the root is part of W(r) = w(r) * product of what came up from its children join rows. Laid end to end these
are the interval [0, N), and the K points (j - 1 + U_j) K-ths of the way along it are rows of the root. Below, the rows
with one key are intervals that fill [0, M(key)), M the message that came up, and each point drawn so far gets a
uniform place in the one of its key. All randomness comes in as parameters: the same numbers give the same rows, for
below the root the rows of a key are laid down in the order of their columns (so of equal rows it does not matter which
is drawn). The root, which may be long, is laid down as it is read, and the intervals without a point are dropped at
once: with one point in each K-th, how many lie below a place is a division and one look into the array.

Which interval holds which point is found by one sort of starts and points together; a range join would compare all.
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.compress import window
from sqlsvm.compile.count import Counts, up_table
from sqlsvm.compile.prepare import key
from sqlsvm.compile.scores import Named, source
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.design import Dictionary
from sqlsvm.join_tree import Edge
from sqlsvm.plan import Plan


def sample(plan: Plan) -> Iterator[Statement]:
    """Messages up, then node by node from the label's: its rows as intervals, and those that the points hit."""
    tree = plan.tree.rerooted(plan.label_node)
    ups = {up_table(node) for node in range(len(tree.nodes))}
    counts = Counts(tree, lambda node: source(plan, node, "n"), plan.weighted)
    yield from (s for s in counts.messages() if s.table in ups)
    for node, parent in drawn_nodes(plan):
        name = tree.name(node)
        if parent and parent.unique_at(node):
            yield statement(f"drawn rows of {name}", _met(plan, node, parent), drawn_table(node))
        else:
            intervals = _intervals(plan, node, parent) if parent else _root_intervals(plan, node)
            yield statement(f"intervals of {name}", intervals, intervals_table(node))
            yield statement(f"drawn rows of {name}", _hit(plan, node, parent), drawn_table(node))
    for node, _ in drawn_nodes(plan):
        yield statement(sample_name(node), _answer(plan, node))


DENSITY = "density"
"""The parameter K / N: points in a unit of the interval."""


def sample_name(node: int) -> str:
    return f"sample {node}"


def points(node: int) -> str:
    """The parameter of a node: K places in [0, N) for the label's node, K numbers in [0, 1) for any other."""
    return f"points{node}"


def drawn_nodes(plan: Plan) -> list[tuple[int, Edge | None]]:
    """The nodes from the label's downwards, each with the edge to its parent; but where no feature is at a node or
    below it, it does not matter which of its rows is drawn."""
    return [(n, p) for n, p in plan.tree.down(plan.label_node) if p is None or _has_features(plan, n, p)]


def category_number(dictionary: Dictionary) -> str:
    return f"n{dictionary.number}"


def intervals_table(node: int) -> str:
    return f"sqlsvm_intervals{node}"


def drawn_table(node: int) -> str:
    """Row j of the sample, as far as it comes from this node."""
    return f"sqlsvm_drawn{node}"


def _has_features(plan: Plan, node: int, parent: Edge) -> bool:
    if plan.coordinates(node) or plan.dictionaries(node):
        return True
    return any(_has_features(plan, e.other(node), e) for e in plan.tree.edges_of(node) if e != parent)


def _columns(plan: Plan, node: int) -> list[str]:
    """What the sample needs of a node; its rows are sorted by these, and text, slow to compare, comes last."""
    edges = [e for _, e in drawn_nodes(plan) if e and node in (e.left, e.right)]
    names = [key(v) for v in sorted({v for e in edges for v in e.on})]
    return [*names, *_numbers(plan, node), *(d.column for d in plan.dictionaries(node))]


def _numbers(plan: Plan, node: int) -> list[str]:
    label = ["y"] if node == plan.label_node else []
    return label + [c.column for c in plan.coordinates(node) if c.role != "intercept"]


def _root_intervals(plan: Plan, node: int) -> exp.Select:
    """SELECT columns, their number in order, the low end of their interval: of the rows as they are read only those
    whose interval holds a point.

    The first is kept in any case: no rounding may leave the first point without an interval that starts before it."""
    columns, size = _columns(plan, node), sql.column("size")
    through = window(sql.total(size), [], [], running=True)
    rows = sql.derived(_sized(plan, node, None, columns), "s")
    ends = sql.derived(sql.select([*_same([*columns, "size"]), (through, "high")], rows), "e")
    low = exp.Sub(this=sql.column("high"), expression=size.copy())
    laid = sql.derived(sql.select([*_same([*columns, "size", "high"]), (low, "low")], ends), "l")
    holds = exp.GT(this=_points_below("high", node), expression=_points_below("low", node))
    wanted = exp.paren(exp.Or(this=holds, expression=sql.equal(sql.column("low"), sql.number(0))))
    hit = sql.select(_same([*columns, "low"]), laid).where(_positive(size), wanted)
    numbered = (window(exp.RowNumber(), [], ["low"]), "number")
    return sql.select([*_same([*columns, "low"]), numbered], sql.derived(hit, "h"))


def _points_below(place: str, node: int) -> exp.Expression:
    """How many of the root's points lie below a place: one for each whole K-th, and perhaps that of the next."""
    whole = exp.Floor(this=sql.product(sql.column(place), sql.parameter(DENSITY)))
    next_ = exp.cast(exp.Add(this=whole.copy(), expression=sql.integer(1)), exp.DType.INT)
    point = exp.Bracket(this=exp.paren(_places(node), copy=False), expressions=[next_], offset=1)
    below = exp.LT(this=point, expression=sql.column(place))
    return sql.plus(whole, sql.case(below, sql.integer(1), sql.integer(0)))


def _intervals(plan: Plan, node: int, parent: Edge) -> exp.Select:
    """SELECT columns, their number in order, the low end of their interval FROM node JOIN messages from below"""
    columns, size = _columns(plan, node), sql.column("size")
    shared = _keys(parent)
    order = [*shared, *(c for c in columns if c not in shared)]
    end = window(sql.total(size), shared, order, running=True)
    numbered: Named = [
        (window(exp.RowNumber(), [], order), "number"),
        (exp.Sub(this=end, expression=size.copy()), "low"),
    ]
    rows = sql.derived(_sized(plan, node, parent, columns), "s")
    found = sql.select([*_same(columns), *numbered], rows)
    return found.where(_positive(size))


def _sized(plan: Plan, node: int, parent: Edge | None, columns: list[str]) -> exp.Select:
    """SELECT columns, w * what came up from the children AS size: the rows without a partner below drop out."""
    below = [(e, up_table(e.other(node))) for e in plan.tree.edges_of(node) if e is not parent]
    weight = [sql.double(sql.column("w", "n"))] if plan.weighted(node) else []
    size = sql.product(*weight, *(sql.column("c", table) for _, table in below))
    found = sql.select([*((sql.column(c, "n"), c) for c in columns), (size, "size")], source(plan, node, "n"))
    for edge, table in below:
        found = sql.join(found, exp.to_table(table), _meet(edge, "n", table))
    return found


def _hit(plan: Plan, node: int, parent: Edge | None) -> exp.Select:
    """SELECT j, columns: for every point the last interval of its key that starts at or before it."""
    shared, columns = _keys(parent), _columns(plan, node)
    last = window(sql.largest(sql.column("number")), shared, ["place", "kind"], running=True)
    merged = sql.derived(exp.union(_starts(node, shared), _points(node, parent), distinct=False), "m")
    looked_up = sql.derived(sql.select([(sql.column("j"), "j"), (last, "number")], merged), "h")
    intervals = intervals_table(node)
    picked: Named = [(sql.column("j", "h"), "j"), *((sql.column(c, intervals), c) for c in columns)]
    meet = [sql.equal(sql.column("number", "h"), sql.column("number", intervals))]
    found = sql.join(sql.select(picked, looked_up), exp.to_table(intervals), meet)
    return found.where(sql.not_null(sql.column("j", "h")))


def _starts(node: int, shared: list[str]) -> exp.Select:
    keys = [(sql.column(k), k) for k in shared]
    place: Named = [(sql.column("low"), "place"), (sql.integer(0), "kind")]
    row: Named = [(sql.column("number"), "number"), (_no_number(), "j")]
    return sql.select([*keys, *place, *row], exp.to_table(intervals_table(node)))


def _points(node: int, parent: Edge | None) -> exp.Select:
    """The points with their keys, as the message spells them. At a start they come after it: it is theirs."""
    came, p = up_table(node), "p"
    parameter = exp.Unnest(expressions=[_places(node)], alias=exp.TableAlias(this=p, columns=["u", "j"]), offset=True)
    u = sql.product(sql.column("u", p), *([sql.column("c", came)] if parent else []))
    keys = [(sql.column(k, came), k) for k in _keys(parent)]
    row: Named = [(_no_number(), "number"), (sql.column("j", p), "j")]
    found = sql.select([*keys, (u, "place"), (sql.integer(1), "kind"), *row]).from_(parameter)
    if not parent:
        return found
    above = drawn_table(parent.other(node))
    found = sql.join(found, exp.to_table(above), [sql.equal(sql.column("j", above), sql.column("j", p))])
    return sql.join(found, exp.to_table(came), _meet(parent, above, came))


def _positive(size: exp.Column) -> exp.Expression:
    return exp.GT(this=size.copy(), expression=sql.integer(0))


def _places(node: int) -> exp.Expression:
    return exp.cast(exp.Placeholder(this=points(node)), exp.DataType.build("double[]"))


def _same(names: list[str]) -> Named:
    return [(sql.column(n), n) for n in names]


def _no_number() -> exp.Expression:
    return exp.cast(exp.null(), exp.DType.BIGINT)


def _met(plan: Plan, node: int, parent: Edge) -> exp.Select:
    """SELECT j, columns: along a foreign key a row meets one row, and there is nothing to draw."""
    above = drawn_table(parent.other(node))
    columns = [(sql.column(c, "n"), c) for c in _columns(plan, node)]
    found = sql.select([(sql.column("j", above), "j"), *columns], exp.to_table(above))
    return sql.join(found, source(plan, node, "n"), _meet(parent, above, "n"))


def _answer(plan: Plan, node: int) -> exp.Select:
    """SELECT x.., category numbers, y in the order of the sample"""
    drawn, dictionaries = drawn_table(node), plan.dictionaries(node)
    columns = [(sql.column(c, drawn), c) for c in ["j", *_numbers(plan, node)]]
    numbers = [(sql.column("n", d.table), category_number(d)) for d in dictionaries]
    found = sql.select([*columns, *numbers], exp.to_table(drawn))
    for d in dictionaries:
        meet = [sql.equal(sql.column("v", d.table), sql.column(d.column, drawn))]
        found = sql.join(found, exp.to_table(d.table), meet, "left")
    return found.order_by(sql.column("j", drawn))


def _keys(parent: Edge | None) -> list[str]:
    return [key(v) for v in parent.on] if parent else []


def _meet(edge: Edge, left: str, right: str) -> list[exp.Expression]:
    return [sql.equal(sql.column(key(v), left), sql.column(key(v), right)) for v in edge.on]
