"""K rows of the join, drawn uniformly without making it.

First draw rows of the root, then for each drawn row one row of each child. The root is the node that the label's folds
into, so that as little as possible is left to draw below it; where rows of the label's relation are told apart, it is
their node. A row r of the root is part of W(r) join rows: w(r) times what came up from its children. Laid end to end,
these intervals fill [0, N). The points at (j - 1 + U_j) N / K choose K rows of the root. Below the root, the rows of
one key are intervals that fill [0, M(key)), where M is the message that came up. Each point drawn so far gets a uniform
place in the interval of its key.

All randomness comes in as parameters, and the same numbers give the same rows. For this the rows of a key are laid down
in the order of their columns, so among equal rows it does not matter which is drawn. Where these rows are in as many
join rows as each other, a point's place is the number of its row. Else one sort of starts and points together finds the
interval of each point; a range join would compare all pairs. The root may be long, so it is laid down as it is read.
U_j is the golden ratio times the square of j, turned by a random number and less its whole part: so arithmetic tells
which points a row has.

If each row of the join is a row of the root, and all weigh the same, no messages are needed. The root's rows are
numbered as they are read, from 0 to N - 1 and from 0 again. A row is drawn as often as points hit its number, and the
drawn rows that have a partner everywhere are the sample. To number all rows costs more than to read them. So if the
root is a table, the database thins it by itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import number_column, placed
from sqlsvm.compile.count import Counts, down_table, up_table
from sqlsvm.compile.moments import counts_of
from sqlsvm.compile.prepare import key
from sqlsvm.compile.scores import number_columns, source, value_columns
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.parameters import DENSITY, SEED, TURN, points
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.sql import WIDEST, Named

Hashed = Callable[[Sequence[exp.Expression]], exp.Expression]
"""The whole number that an engine computes from values."""


def sample(
    plan: Plan,
    *,
    thinned: bool = False,
    apart: bool = False,
    hashed: Hashed | None = None,
    chunked: bool = False,
) -> Iterator[Statement]:
    """Messages up, then node by node from the root: its rows as intervals, and those that the points hit. Then an
    answer for each node: SELECT j, y, x.., category numbers. If the sample `is_direct`, it is one answer: SELECT times,
    y, x.., category numbers. `apart`: also the number of the root's row. `hashed`: lay the root's rows down in the
    order of their hashes, because they are read in any order; `chunked`: in chunks by their hashes, not in one go."""
    if is_direct(plan, apart=apart):
        rows = _thinned_rows(plan) if thinned else _hit_rows(plan, None if chunked else hashed)
        yield statement(f"sample {plan.label_node}", _met_everywhere(plan, rows, plan.core))
    else:
        yield from _drawn(plan, apart, hashed, chunked)


def is_direct(plan: Plan, *, apart: bool = False) -> bool:
    """Are the rows of the join those of the root, and each fits into one answer?"""
    return not apart and is_plain(plan) and is_narrow(plan, apart=False)


def whole(plan: Plan, *, apart: bool = False) -> Statement | None:
    """SELECT times, y, x.., category numbers: each row of the join, in an order that is always the same. None if it is
    too wide for one answer. `apart`: also a number of the root's row."""
    if not is_narrow(plan):
        return None
    found = joined(plan, apart=apart)
    return statement(f"join {plan.label_node}", found.order_by(*map(sql.column, found.named_selects)))


def is_narrow(plan: Plan, *, apart: bool = True) -> bool:
    """Does a row of the join fit into one answer?"""
    widths = [len(_values(plan, node)) for node, _ in drawn_nodes(plan, apart=apart)]
    return len(widths) == 1 or sum(widths) <= WIDEST


def joined(plan: Plan, *, apart: bool = False) -> exp.Select:
    """SELECT times, y, x.., category numbers, the part of a plan that keeps parts apart: each row of the join, with its
    weight as times. `apart`: also a number of the root's row."""
    root = plan.label_node
    times = sql.column("w", "l") if plan.weighted(root) else sql.number(1)
    own = [(times, TIMES), *sql.columns(plan.parts, "l"), *([(sql.any_number(), CLUSTER)] if apart else [])]
    rows = sql.select([*sql.columns(_root_columns(plan, root), "l"), *own], source(plan, root, "l"))
    found = _met_everywhere(plan, rows, root)
    also = [*plan.parts, *([CLUSTER] if apart else [])]
    return sql.also(found, sql.columns(also, "n")) if also else found


def _drawn(plan: Plan, apart: bool, hashed: Hashed | None, chunked: bool) -> Iterator[Statement]:
    counts = counts_of(plan, apart=False)
    counts = replace(counts, tree=counts.tree.rerooted(root_of(plan, apart=apart)))
    ups = {up_table(node) for node in range(len(plan.tree.nodes))}
    yield from (s for s in counts.messages() if s.table in ups)
    nodes = list(drawn_nodes(plan, apart=apart))
    above = {parent.other(node) for node, parent in nodes if parent}
    for node, parent in nodes:
        name, drawn = counts.tree.name(node), drawn_table(node)
        if parent is None:
            hit = _root_hit(plan, counts, node, hashed, chunked, apart)
        elif parent.unique_at(node):
            hit = _met(plan, node, parent)
        else:
            alike = _are_alike(plan, counts, node)
            intervals = (_numbered if alike else _intervals)(plan, counts, node, parent)
            yield statement(f"intervals of {name}", intervals, intervals_table(node))
            hit = (_hit_by_number if alike else _hit)(plan, node, parent)
        if node in above:
            yield statement(f"drawn rows of {name}", hit, drawn)
        rows = exp.to_table(drawn) if node in above else sql.derived(hit, drawn)
        yield statement(f"sample of {name}", _answer(plan, node, rows, apart and parent is None))


def root_of(plan: Plan, *, apart: bool = False) -> int:
    """The node of which rows are drawn first."""
    return plan.label_node if apart else plan.core


def is_plain(plan: Plan) -> bool:
    """Is a row of the join a row of the root, and do all weigh the same?"""
    return is_met_once(plan, plan.core) and not any(plan.weighted(node) for node in range(len(plan.tree.nodes)))


def is_met_once(plan: Plan, root: int) -> bool:
    """Is a row of this node in one row of the join at most?"""
    return all(parent is None or parent.unique_at(node) for node, parent in plan.tree.down(root))


TIMES = "times"
"""How often a row of the answer was drawn."""
CLUSTER = "cluster"
"""Which row of the label's relation it is of."""
J = "j"
"""The number of a point, from 1: of which row of the sample a part is."""


def drawn_nodes(plan: Plan, *, apart: bool = False) -> list[tuple[int, Edge | None]]:
    """The nodes from the root downwards, each with the edge to its parent. If neither a feature nor the label is at a
    node or below it, it does not matter which of its rows is drawn, so it is left out."""
    down = plan.tree.down(root_of(plan, apart=apart))
    needed = {n for n in range(len(plan.tree.nodes)) if n == plan.label_node or plan.featured(n)}
    return [(n, p) for n, p in down if p is None or not needed.isdisjoint(plan.tree.beyond(n, p))]


def intervals_table(node: int) -> str:
    return f"sqlsvm_intervals{node}"


def drawn_table(node: int) -> str:
    """Row j of the sample, as far as it comes from this node."""
    return f"sqlsvm_drawn{node}"


def _columns(plan: Plan, node: int) -> list[str]:
    """What the sample needs of a node. Its rows are sorted by these. Text is slow to compare, so it comes last."""
    edges = [e for _, e in drawn_nodes(plan) if e and node in (e.left, e.right)]
    names = [key(v) for v in sorted({v for e in edges for v in e.on})]
    return [*names, *_values(plan, node)]


def _values(plan: Plan, node: int) -> list[str]:
    return [*([CODE] if node == plan.label_node else []), *value_columns(plan, node)]


def _root_hit(plan: Plan, counts: Counts, node: int, hashed: Hashed | None, chunked: bool, apart: bool) -> exp.Select:
    """SELECT j, columns FROM the rows, laid down in the order in which they are read, or of their hashes: each as often
    as its interval holds points. `apart`: also the first j of the row, which tells it from others."""
    columns = _columns(plan, node)
    rows = _sized(plan, counts, node, columns)
    laid_down = _in_chunks(rows, hashed) if hashed and chunked else _in_one_go(rows, hashed)
    low, density = exp.paren(sql.minus(sql.column("high"), sql.column("size"))), sql.parameter(DENSITY)
    ends: Named = [(sql.product(low, density), "low"), (sql.product(sql.column("high"), density.copy()), "high")]
    scaled = sql.derived(sql.select([*sql.columns(columns), *ends], sql.derived(laid_down, "e")), "l")
    held: Named = [(sql.plus(_points_below("low"), sql.integer(1)), "first"), (_points_below("high"), "last")]
    hit = sql.derived(sql.select([*sql.columns(columns), *held], scaled), "h")
    own = [(sql.column("first"), CLUSTER)] if apart else []
    first, last = (exp.cast(sql.column(end), exp.DType.BIGINT) for end in ("first", "last"))
    drawn = sql.select([(sql.series(first, last), J), *own, *sql.columns(columns)], hit)
    return sql.where(drawn, exp.LTE(this=sql.column("first"), expression=sql.column("last")))


GOLDEN = (5**0.5 - 1.0) / 2.0


def _points_below(place: str) -> exp.Expression:
    """How many of the root's points lie below a place, in K-ths: one for each whole K-th, and perhaps that of the next.
    Where in it that is comes from the square of its number: multiples of one ratio would go in step with rows that
    repeat with a period."""
    whole = exp.Floor(this=sql.column(place))
    turned = sql.plus(sql.product(whole, whole.copy(), sql.number(GOLDEN)), sql.parameter(TURN))
    point = sql.minus(turned, exp.Floor(this=turned.copy()))
    below = exp.LT(this=sql.plus(whole.copy(), point), expression=sql.column(place))
    return sql.plus(whole.copy(), sql.case(below, sql.integer(1), sql.integer(0)))


def _in_one_go(rows: exp.Select, hashed: Hashed | None) -> exp.Select:
    """SELECT columns, size, the high end of their interval"""
    names = rows.named_selects
    if hashed:
        rows = _with_hash(names, sql.derived(rows, "s"), hashed)
    through = sql.window(sql.total(sql.column("size")), (), [HASH] if hashed else (), running=True)
    return sql.select([*sql.columns(names), (through, "high")], sql.derived(rows, "s"))


HASH = "hash_of_row"


def _with_hash(names: Sequence[str], rows: exp.Expr, hashed: Hashed) -> exp.Select:
    """SELECT columns, their hash"""
    columns = sql.columns(names)
    return sql.select([*columns, (hashed([c.copy() for c, _ in columns]), HASH)], rows)


CHUNKS = 1024


def _in_chunks(rows: exp.Select, hashed: Hashed) -> exp.Select:
    """The same, where a window over all rows would be the work of one task: first the sizes of chunks are added up,
    then those of the rows of each."""
    names, size, chunk, whole = rows.named_selects, sql.column("size"), sql.column("chunk"), sql.column("whole")
    of = exp.BitwiseAnd(this=hashed([c for c, _ in sql.columns(names)]), expression=sql.integer(CHUNKS - 1))
    chunked = sql.derived(sql.select([*sql.columns(names), (of, "chunk")], sql.derived(rows, "s")), "r")
    wholes = sql.derived(sql.grouped([(chunk, "chunk")], [(sql.total(size), "whole")], chunked.copy()), "w")
    start = sql.minus(sql.window(sql.total(whole), (), ["chunk"], running=True), whole.copy())
    starts = sql.derived(sql.select([(chunk.copy(), "at"), (start, "start")], wholes), "b")
    high = sql.plus(sql.column("start"), sql.window(sql.total(size.copy()), ["chunk"], running=True))
    found = sql.select([*sql.columns(names), (high, "high")], chunked)
    return sql.join(found, starts, [sql.equal(sql.column("at"), sql.column("chunk"))])


def _are_alike(plan: Plan, counts: Counts, node: int) -> bool:
    """Is each of its rows, as seen from above, in one join row?"""
    return not plan.weighted(node) and not counts.meets(node, down_table(node))


def _numbered(plan: Plan, counts: Counts, node: int, parent: Edge) -> exp.Select:
    """SELECT columns, their number among the rows of their key FROM node"""
    columns = _columns(plan, node)
    return sql.select([*sql.columns(columns), (_number(columns, parent), "number")], counts.rows(node))


def _number(columns: list[str], parent: Edge) -> exp.Expression:
    return sql.window(exp.RowNumber(), _keys(parent), _order(columns, parent))


def _order(columns: list[str], parent: Edge) -> list[str]:
    shared = _keys(parent)
    return [*shared, *(c for c in columns if c not in shared)]


def _intervals(plan: Plan, counts: Counts, node: int, parent: Edge) -> exp.Select:
    """SELECT columns, their number among the rows of their key, the low end of their interval FROM node JOIN messages
    from below. Both windows are alike, so the rows are sorted once, and each key by itself."""
    columns, size = _columns(plan, node), sql.column("size")
    through = sql.window(sql.total(size), _keys(parent), _order(columns, parent), running=True)
    laid: Named = [*sql.columns(columns), (_number(columns, parent), "number"), (sql.minus(through, size), "low")]
    rows = sql.derived(_sized(plan, counts, node, columns), "s")
    return sql.where(sql.select(laid, rows), sql.positive(size))


def _sized(plan: Plan, counts: Counts, node: int, columns: list[str]) -> exp.Select:
    """SELECT columns, w * what came up from the children AS size: the rows without a partner below drop out."""
    above = down_table(node)
    return counts.joined(node, [*sql.columns(columns, "n"), (counts.total(node, above), "size")], above)


def _hit(plan: Plan, node: int, parent: Edge) -> exp.Select:
    """SELECT j, columns: for every point the last interval of its key that starts at or before it."""
    shared = _keys(parent)
    last = sql.window(sql.largest(sql.column("number")), shared, ["place", "kind"], running=True)
    merged = sql.derived(sql.union_all(_starts(node, shared), _points(node, parent)), "m")
    looked_up = sql.select([*sql.columns([J, *shared]), (last, "number")], merged)
    return sql.where(_with_row(plan, node, parent, looked_up), sql.not_null(sql.column(J, "h")))


def _hit_by_number(plan: Plan, node: int, parent: Edge) -> exp.Select:
    """The same where a point's place is the number of its row, less 1 and a part."""
    number = sql.plus(exp.Floor(this=sql.column("place")), sql.integer(1))
    points = sql.derived(_points(node, parent), "p")
    looked_up = sql.select([*sql.columns([J, *_keys(parent)]), (exp.cast(number, exp.DType.BIGINT), "number")], points)
    return _with_row(plan, node, parent, looked_up)


def _with_row(plan: Plan, node: int, parent: Edge, looked_up: exp.Select) -> exp.Select:
    """SELECT j, columns FROM what was looked up for each j JOIN intervals"""
    intervals = intervals_table(node)
    picked = sql.select(
        [*sql.columns([J], "h"), *sql.columns(_columns(plan, node), intervals)], sql.derived(looked_up, "h")
    )
    return sql.join(picked, exp.to_table(intervals), sql.same([*_keys(parent), "number"], "h", intervals))


def _starts(node: int, shared: list[str]) -> exp.Select:
    place: Named = [(sql.column("low"), "place"), (sql.integer(0), "kind"), (sql.column("number"), "number")]
    return sql.select([*sql.columns(shared), *place, (_no_number(), J)], exp.to_table(intervals_table(node)))


def _points(node: int, parent: Edge) -> exp.Select:
    """The points with their keys, as the message spells them. A point at a start sorts after it, because the interval
    holds its start."""
    came, above, p = up_table(node), drawn_table(parent.other(node)), "p"
    u = sql.product(sql.column("u", p), sql.column("c", came))
    place: Named = [(u, "place"), (sql.integer(1), "kind"), (_no_number(), "number"), (sql.column(J, p), J)]
    found = sql.select([*sql.columns(_keys(parent), came), *place], _unnested(node))
    found = sql.join(found, exp.to_table(above), sql.same([J], above, p))
    return sql.join(found, exp.to_table(came), sql.same(_keys(parent), above, came))


def _unnested(node: int) -> exp.Expression:
    """p(u, j): the points in their order."""
    return sql.items(sql.array(points(node)), "p", "u", J)


def _no_number() -> exp.Expression:
    return exp.cast(exp.null(), exp.DType.BIGINT)


def _met(plan: Plan, node: int, parent: Edge) -> exp.Select:
    """SELECT j, columns: along a foreign key a row meets one row, and there is nothing to draw."""
    above = drawn_table(parent.other(node))
    columns = [*sql.columns([J], above), *sql.columns(_columns(plan, node), "n")]
    found = sql.select(columns, exp.to_table(above))
    return sql.join(found, source(plan, node, "n"), sql.same(_keys(parent), above, "n"))


def _answer(plan: Plan, node: int, drawn: exp.Expr, clustered: bool) -> exp.Select:
    """SELECT j, y, x.., category numbers FROM what was drawn of a node"""
    name = drawn_table(node)
    found = sql.select(sql.columns([J, *([CLUSTER] if clustered else [])], name), drawn)
    return _with_values(plan, found, {node: name})


def _met_everywhere(plan: Plan, rows: exp.Select, root: int) -> exp.Select:
    """SELECT times, x.., category numbers, y FROM rows of the root JOIN every other node"""
    names = {root: "n"}
    others = [(node, parent) for node, parent in plan.tree.down(root) if parent]
    names |= {node: f"n{node}" for node, _ in others}
    weights = (sql.column("w", names[node]) for node, _ in others if plan.weighted(node))
    found = sql.select([(sql.product(sql.column(TIMES, "n"), *weights), TIMES)], sql.derived(rows, "n"))
    for node, parent in others:
        meet = sql.same(_keys(parent), names[parent.other(node)], names[node])
        found = sql.join(found, source(plan, node, names[node]), meet)
    return _with_values(plan, found, names)


def _with_values(plan: Plan, found: exp.Select, names: Mapping[int, str]) -> exp.Select:
    """What each node, under its name there, adds to a row."""
    for node, name in names.items():
        if node == plan.label_node:
            found = sql.also(found, [(sql.column(CODE, name), CODE)])
        found = sql.also(found, sql.columns(number_columns(plan, node), name))
        for d in plan.dictionaries(node):
            found, n = placed(found, d, name)
            found = sql.also(found, [(n, number_column(d))])
    return found


def thinnable(plan: Plan) -> exp.Table | None:
    """The table whose rows are those of the root, if it is one."""
    node = plan.tree.nodes[plan.core]
    table = plan.tree.query.relation(node[0]).source
    whole = len(node) == 1 and plan.core not in plan.copied and is_plain(plan)
    return table if whole and isinstance(table, exp.Table) else None


def _thinned_rows(plan: Plan) -> exp.Select:
    """SELECT columns, 1 AS times FROM the root, where each row of its table stays with the probability K / N"""
    table, (alias,), query = thinnable(plan), plan.tree.nodes[plan.core], plan.tree.query
    assert table is not None
    percent = sql.product(sql.number(100), sql.parameter(DENSITY))
    table = table.copy()
    table.set("sample", exp.TableSample(method="BERNOULLI", percent=percent, seed=sql.parameter(SEED)))
    relations = tuple(replace(r, source=table) if r.alias == alias else r for r in query.relations)
    thin = replace(plan, tree=replace(plan.tree, query=replace(query, relations=relations)))
    rows = [*sql.columns(_root_columns(plan, plan.core), "l"), (sql.number(1), TIMES)]
    return sql.select(rows, source(thin, plan.core, "l"))


def _root_columns(plan: Plan, root: int) -> list[str]:
    """What the answer needs of the root, and every key by which others are met."""
    edges = plan.tree.edges_of(root)
    return list(dict.fromkeys([*(key(v) for e in edges for v in e.on), *_columns(plan, root)]))


def _hit_rows(plan: Plan, hashed: Hashed | None) -> exp.Select:
    """SELECT columns, times FROM the root's rows by number JOIN the numbers that points hit. Grouping also tells the
    planner that each number occurs once."""
    root, columns = plan.core, _root_columns(plan, plan.core)
    hit = exp.cast(exp.Floor(this=sql.column("u", "p")), exp.DType.BIGINT)
    hits = sql.grouped([(hit, "place")], [(sql.count(), TIMES)], _unnested(root))
    own = source(plan, root, "r")
    if hashed:
        own = sql.derived(_with_hash(columns, own, hashed), "r")
    number = sql.row_number(HASH) if hashed else sql.any_number()
    first = exp.paren(sql.minus(number, sql.integer(1)))
    size = sql.double(exp.ArraySize(this=sql.array(points(root))))
    n = sql.rounded(exp.Div(this=size, expression=sql.parameter(DENSITY)))
    place = exp.Mod(this=first, expression=exp.cast(n, exp.DType.BIGINT))
    rows = sql.select([*sql.columns(columns, "r"), (place, "place")], own)
    found = sql.select([*sql.columns(columns, "l"), *sql.columns([TIMES], "h")], sql.derived(rows, "l"))
    return sql.fenced(sql.join(found, sql.derived(hits, "h"), sql.same(["place"], "l", "h")))


def _keys(parent: Edge) -> list[str]:
    return [key(v) for v in parent.on]
