"""K rows of the join, drawn node by node in the database.

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

K rows of the join, drawn uniformly without making it.

Rows are drawn node by node (compile/drawing.py). But if each row of the join is a row of the root, and all weigh the
same, no messages are needed. The root's rows are numbered as they are read, from 0 to N - 1 and from 0 again. A row is
drawn as often as points hit its number, and the drawn rows that have a partner everywhere are the sample. To number all
rows costs more than to read them. So if the root is a table, the database thins it by itself.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import Counts, down_table, up_table
from sqlsvm.compile.joined import (
    CLUSTER,
    TIMES,
    columns_of,
    drawn_nodes,
    is_narrow,
    is_plain,
    keys_of,
    met,
    root_columns,
    root_of,
    with_values,
)
from sqlsvm.compile.moments import counts_of
from sqlsvm.compile.prepare import Name
from sqlsvm.compile.scores import filled
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.parameters import DENSITY, SEED, TURN, points
from sqlsvm.plan.plan import Plan
from sqlsvm.sql import Named

Hashed = Callable[[Sequence[exp.Expression]], exp.Expression]  # the whole number that an engine computes from values
intervals_table: Name = "sqlsvm_intervals{}".format
drawn_table: Name = "sqlsvm_drawn{}".format  # row j of the sample, as far as it comes from this node
J = "j"  # the number of a point, from 1: the row of the sample that a part belongs to


def drawn(plan: Plan, apart: bool, hashed: Hashed | None, chunked: bool) -> Iterator[Statement]:
    """Messages up, then from the root down the rows that the points hit, and an answer for each node."""
    counts = counts_of(plan, apart=False)
    tree = counts.tree.rerooted(root_of(plan, apart=apart))
    counts = replace(counts, tree=tree, rows=partial(filled, plan, alias="n"))
    ups = {up_table(node) for node in range(len(plan.tree.nodes))}
    yield from (s for s in counts.messages() if s.table in ups)
    nodes = list(drawn_nodes(plan, apart=apart))
    above = {parent.other(node) for node, parent in nodes if parent}
    for node, parent in nodes:
        name, table = counts.tree.name(node), drawn_table(node)
        if parent is None:
            hit = _root_hit(plan, counts, node, hashed, chunked, apart)
        elif parent.unique_at(node):
            hit = _met(plan, node, parent)
        else:
            alike = _are_alike(plan, node, parent)
            intervals = _intervals(plan, counts, node, parent, alike)
            yield statement(f"intervals of {name}", intervals, intervals_table(node))
            hit = (_hit_by_number if alike else _hit)(plan, node, parent)
        if node in above:
            yield statement(f"drawn rows of {name}", hit, table)
        rows = sql.table(table) if node in above else sql.derived(hit, table)
        found = sql.select(sql.columns([J, *([CLUSTER] if apart and parent is None else [])], table), rows)
        yield statement(f"sample of {name}", with_values(plan, found, {node: table}))


def _root_hit(plan: Plan, counts: Counts, node: int, hashed: Hashed | None, chunked: bool, apart: bool) -> exp.Select:
    """SELECT j, columns FROM the rows, laid down in the order in which they are read, or of their hashes: each as often
    as its interval holds points. `apart`: also the first j of the row, which tells it from others."""
    columns = columns_of(plan, node)
    rows = _sized(plan, counts, node, columns)
    laid_down = _in_chunks(rows, hashed) if hashed and chunked else _in_one_go(rows, hashed)
    density = sql.parameter(DENSITY)
    ends: Named = [(sql.product(sql.minus("high", "size"), density), "low"), (sql.product("high", density), "high")]
    scaled = sql.derived(sql.select([*sql.columns(columns), *ends], sql.derived(laid_down, "e")), "l")
    held: Named = [(sql.plus(_points_below("low"), 1), "first"), (_points_below("high"), "last")]
    hit = sql.derived(sql.select([*sql.columns(columns), *held], scaled), "h")
    own = [(sql.column("first"), CLUSTER)] if apart else []
    first, last = (exp.cast(sql.column(end), exp.DType.BIGINT) for end in ("first", "last"))
    drawn = sql.select([(sql.series(first, last), J), *own, *sql.columns(columns)], hit)
    return sql.where(drawn, sql.at_most("first", "last"))


GOLDEN = (5**0.5 - 1.0) / 2.0


def _points_below(place: str) -> exp.Expression:
    """How many of the root's points lie below a place, in K-ths: one for each whole K-th, and perhaps that of the next.
    Where in it that is comes from the square of its number: multiples of one ratio would go in step with rows that
    repeat with a period."""
    whole = exp.Floor(this=sql.column(place))
    turned = sql.plus(sql.product(whole, whole, sql.number(GOLDEN)), sql.parameter(TURN))
    point = sql.minus(turned, exp.Floor(this=turned))
    return sql.plus(whole, sql.case(sql.less(sql.plus(whole, point), place), 1, 0))


def _in_one_go(rows: exp.Select, hashed: Hashed | None) -> exp.Select:
    """SELECT columns, size, the high end of their interval"""
    names = rows.named_selects
    if hashed:
        rows = with_hash(names, sql.derived(rows, "s"), hashed)
    through = sql.window(sql.total("size"), (), [HASH] if hashed else (), running=True)
    return sql.select([*sql.columns(names), (through, "high")], sql.derived(rows, "s"))


HASH = "hash_of_row"


def with_hash(names: Sequence[str], rows: exp.Expr, hashed: Hashed) -> exp.Select:
    columns = sql.columns(names)
    return sql.select([*columns, (hashed([c for c, _ in columns]), HASH)], rows)


CHUNKS = 1024


def _in_chunks(rows: exp.Select, hashed: Hashed) -> exp.Select:
    """The same, where a window over all rows would be the work of one task: first the sizes of chunks are added up,
    then those of the rows of each."""
    names, chunk = rows.named_selects, sql.column("chunk")
    of = exp.BitwiseAnd(this=hashed([c for c, _ in sql.columns(names)]), expression=sql.integer(CHUNKS - 1))
    chunked = sql.derived(sql.select([*sql.columns(names), (of, "chunk")], sql.derived(rows, "s")), "r")
    wholes = sql.derived(sql.grouped([(chunk, "chunk")], [(sql.total("size"), "whole")], chunked), "w")
    start = sql.minus(sql.window(sql.total("whole"), (), ["chunk"], running=True), "whole")
    starts = sql.derived(sql.select([(chunk, "at"), (start, "start")], wholes), "b")
    high = sql.plus("start", sql.window(sql.total("size"), ["chunk"], running=True))
    return sql.join(sql.select([*sql.columns(names), (high, "high")], chunked), starts, [sql.equal("at", "chunk")])


def _are_alike(plan: Plan, node: int, parent: Edge) -> bool:
    """Is each of its rows, as seen from above, in one join row at most?"""
    below = list(plan.tree.beyond(node, parent))
    parents = {n: edge for n, edge in plan.tree.down(parent.other(node)) if edge}
    return not any(plan.weighted(n) for n in below) and all(parents[n].unique_at(n) for n in below if n != node)


def _intervals(plan: Plan, counts: Counts, node: int, parent: Edge, alike: bool) -> exp.Select:
    """SELECT columns, their number among the rows of their key, the low end of their interval FROM node JOIN messages
    from below. Both windows are alike, so the rows are sorted once, and each key by itself. Of rows that are alike the
    number is enough."""
    columns, size, shared = columns_of(plan, node), sql.column("size"), keys_of(parent)
    order = [*shared, *(c for c in columns if c not in shared)]
    through = sql.window(sql.total(size), shared, order, running=True)
    laid: Named = [*sql.columns(columns), (sql.window(exp.RowNumber(), shared, order), "number")]
    laid += [] if alike else [(sql.minus(through, size), "low")]
    if alike and not counts.meets(node, down_table(node)):
        return sql.select(laid, counts.rows(node))
    rows = sql.derived(_sized(plan, counts, node, columns), "s")
    return sql.where(sql.select(laid, rows), sql.positive(size))


def _sized(plan: Plan, counts: Counts, node: int, columns: list[str]) -> exp.Select:
    """SELECT columns, w * what came up from the children AS size: the rows without a partner below drop out."""
    above = down_table(node)
    return counts.joined(node, [*sql.columns(columns, "n"), (counts.total(node, above), "size")], above)


def _hit(plan: Plan, node: int, parent: Edge) -> exp.Select:
    """SELECT j, columns: for every point the last interval of its key that starts at or before it."""
    shared = keys_of(parent)
    last = sql.window(sql.largest("number"), shared, ["place", "kind"], running=True)
    place: Named = [(sql.column("low"), "place"), (sql.integer(0), "kind"), (sql.column("number"), "number")]
    starts = sql.select([*sql.columns(shared), *place, (_no_number(), J)], sql.table(intervals_table(node)))
    merged = sql.derived(sql.union_all(starts, _points(node, parent)), "m")
    looked_up = sql.select([*sql.columns([J, *shared]), (last, "number")], merged)
    return sql.where(_with_row(plan, node, parent, looked_up), sql.not_null(sql.column(J, "h")))


def _hit_by_number(plan: Plan, node: int, parent: Edge) -> exp.Select:
    """The same where a point's place is the number of its row, less 1 and a part."""
    number = sql.plus(exp.Floor(this=sql.column("place")), 1)
    points = sql.derived(_points(node, parent), "p")
    row = exp.cast(number, exp.DType.BIGINT)
    looked_up = sql.select([*sql.columns([J, *keys_of(parent)]), (row, "number")], points)
    return _with_row(plan, node, parent, looked_up)


def _with_row(plan: Plan, node: int, parent: Edge, looked_up: exp.Select) -> exp.Select:
    """SELECT j, columns FROM what was looked up for each j JOIN intervals"""
    intervals = intervals_table(node)
    columns = [*sql.columns([J], "h"), *sql.columns(columns_of(plan, node), intervals)]
    picked = sql.select(columns, sql.derived(looked_up, "h"))
    return sql.join(picked, sql.table(intervals), sql.same([*keys_of(parent), "number"], "h", intervals))


def _points(node: int, parent: Edge) -> exp.Select:
    """The points with their keys, as the message spells them. A point at a start sorts after it, because the interval
    holds its start."""
    came, above, p = up_table(node), drawn_table(parent.other(node)), "p"
    u = sql.product(sql.column("u", p), sql.column("c", came))
    place: Named = [(u, "place"), (sql.integer(1), "kind"), (_no_number(), "number"), (sql.column(J, p), J)]
    found = sql.select([*sql.columns(keys_of(parent), came), *place], unnested(node))
    found = sql.join(found, sql.table(above), sql.same([J], above, p))
    return sql.join(found, sql.table(came), sql.same(keys_of(parent), above, came))


def unnested(node: int) -> exp.Expression:
    """p(u, j): the points in their order."""
    return sql.items(sql.array(points(node)), "p", "u", J)


def _no_number() -> exp.Expression:
    return exp.cast(exp.null(), exp.DType.BIGINT)


def _met(plan: Plan, node: int, parent: Edge) -> exp.Select:
    """SELECT j, columns: along a foreign key a row meets one row, and there is nothing to draw."""
    above = drawn_table(parent.other(node))
    columns = [*sql.columns([J], above), *sql.columns(columns_of(plan, node), "n")]
    found = sql.select(columns, sql.table(above))
    return sql.join(found, filled(plan, node, "n"), sql.same(keys_of(parent), above, "n"))


HIT = "sqlsvm_hit"  # the hashes of the rows that are drawn, and how often


def sample(
    plan: Plan,
    *,
    thinned: bool = False,
    apart: bool = False,
    hashed: Hashed | None = None,
    chunked: bool = False,
    twice: bool = False,
) -> Iterator[Statement]:
    """Messages up, then node by node from the root: its rows as intervals, and those that the points hit. Then an
    answer for each node: SELECT j, y, x.., category numbers. If the sample `is_direct`, it is one answer: SELECT times,
    y, x.., category numbers. `apart`: also the number of the root's row. `hashed`: lay the root's rows down in the
    order of their hashes, because they are read in any order; `chunked`: in chunks by their hashes, not in one go;
    `twice`: read the rows again for those that are hit, as hashes alone are sorted sooner."""
    if not is_direct(plan, apart=apart):
        yield from drawn(plan, apart, hashed, chunked)
        return
    columns, core = root_columns(plan, plan.core), plan.core
    if thinned:
        found = _thinned_rows(plan)
    elif not hashed or chunked:
        found = sql.fenced(_hit_at_numbers(plan, columns, filled(plan, core, "r"), sql.any_number()))
    else:
        rows = with_hash(columns, filled(plan, core, "r"), hashed)
        if twice:
            yield statement("hashes that points hit", _hit_hashes(plan, rows), HIT)
            # rows with the same hash are equal, and one of them stands for all
            names = [*sql.columns(columns, "l"), *sql.columns([TIMES], HIT)]
            hit = sql.join(sql.select(names, sql.derived(rows, "l")), sql.table(HIT), sql.same([HASH], "l", HIT))
            found = sql.fenced(hit.distinct(copy=False))
        else:
            found = sql.fenced(_hit_at_numbers(plan, columns, sql.derived(rows, "r"), sql.row_number(HASH)))
    yield statement(f"sample {plan.label_node}", met(plan, found, core))


def is_direct(plan: Plan, *, apart: bool = False) -> bool:
    """Are the rows of the join those of the root, and each fits into one answer?"""
    return not apart and is_plain(plan) and is_narrow(plan, apart=False)


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
    percent = sql.product(100.0, sql.parameter(DENSITY))
    table = table.copy()
    table.set("sample", exp.TableSample(method="BERNOULLI", percent=percent, seed=sql.parameter(SEED)))
    query = query.with_relation(replace(query.relation(alias), source=table))
    thin = replace(plan, tree=replace(plan.tree, query=query))
    rows = [*sql.columns(root_columns(plan, plan.core), "l"), (sql.number(1), TIMES)]
    return sql.select(rows, filled(thin, plan.core, "l"))


def _hit_hashes(plan: Plan, rows: exp.Select) -> exp.Select:
    """SELECT hash, times: what points hit where the rows are laid down in the order of their hashes."""
    only = [output for output in rows.selects if output.alias == HASH]
    hashes = sql.derived(rows.select(*only, append=False), "r")
    hit = sql.derived(_hit_at_numbers(plan, [HASH], hashes, sql.row_number(HASH)), "h")
    return sql.grouped(sql.columns([HASH]), sql.totals([TIMES]), hit)


def _hit_at_numbers(plan: Plan, columns: Sequence[str], rows: exp.Expr, number: exp.Expression) -> exp.Select:
    """SELECT columns, times FROM these rows, which are called r, by number JOIN the numbers that points hit. Grouping
    also tells the planner that each number occurs once."""
    root = plan.core
    hit = exp.cast(exp.Floor(this=sql.column("u", "p")), exp.DType.BIGINT)
    hits = sql.grouped([(hit, "place")], [(sql.count(), TIMES)], unnested(root))
    first = sql.minus(number, 1)
    size = sql.double(exp.ArraySize(this=sql.array(points(root))))
    n = sql.rounded(sql.ratio(size, sql.parameter(DENSITY)))
    place = exp.Mod(this=exp.paren(first), expression=exp.cast(n, exp.DType.BIGINT))
    numbered = sql.select([*sql.columns(columns, "r"), (place, "place")], rows)
    found = sql.select([*sql.columns(columns, "l"), *sql.columns([TIMES], "h")], sql.derived(numbered, "l"))
    return sql.join(found, sql.derived(hits, "h"), sql.same(["place"], "l", "h"))
