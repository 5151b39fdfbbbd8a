"""K rows of the join, drawn uniformly without making it.

Rows are drawn node by node (compile/drawing.py). But if each row of the join is a row of the root, and all weigh the
same, no messages are needed. The root's rows are numbered as they are read, from 0 to N - 1 and from 0 again. A row is
drawn as often as points hit its number, and the drawn rows that have a partner everywhere are the sample. To number all
rows costs more than to read them. So if the root is a table, the database thins it by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.drawing import HASH, Hashed, drawn, unnested, with_hash
from sqlsvm.compile.joined import TIMES, is_narrow, is_plain, met, root_columns
from sqlsvm.compile.scores import source
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.parameters import DENSITY, SEED, points
from sqlsvm.plan.plan import Plan

HIT = "sqlsvm_hit"
"""The hashes of the rows that are drawn, and how often."""


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
        found = sql.fenced(_hit(plan, columns, source(plan, core, "r"), sql.any_number()))
    else:
        rows = with_hash(columns, source(plan, core, "r"), hashed)
        if twice:
            yield statement("hashes that points hit", _hit_hashes(plan, rows), HIT)
            found = sql.fenced(_with_hash(columns, rows))
        else:
            found = sql.fenced(_hit(plan, columns, sql.derived(rows, "r"), sql.row_number(HASH)))
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
    return sql.select(rows, source(thin, plan.core, "l"))


def _hit_hashes(plan: Plan, rows: exp.Select) -> exp.Select:
    """SELECT hash, times: what points hit where the rows are laid down in the order of their hashes."""
    only = [output for output in rows.selects if output.alias == HASH]
    hashes = sql.derived(rows.select(*only, append=False), "r")
    hit = sql.derived(_hit(plan, [HASH], hashes, sql.row_number(HASH)), "h")
    return sql.grouped(sql.columns([HASH]), sql.totals([TIMES]), hit)


def _with_hash(columns: Sequence[str], rows: exp.Select) -> exp.Select:
    """SELECT columns, times FROM the root's rows with these hashes. Those with the same hash are equal, and one of them
    stands for all."""
    found = sql.select([*sql.columns(columns, "l"), *sql.columns([TIMES], HIT)], sql.derived(rows, "l"))
    return sql.join(found, sql.table(HIT), sql.same([HASH], "l", HIT)).distinct(copy=False)


def _hit(plan: Plan, columns: Sequence[str], rows: exp.Expr, number: exp.Expression) -> exp.Select:
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
