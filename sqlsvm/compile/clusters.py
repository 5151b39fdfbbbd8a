"""What the rows of the label's node add up to: for each of them a function of the scores of its rows of the join.

A row of the join counts u(z), a function of its residual that is linear between a few places. A pass counts it as it
counts the slope of a loss, and takes the sums back to the rows of the label's node. Only their squares leave the
database.
"""

from collections.abc import Iterator
from dataclasses import fields, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.lines import Given, Meeting
from sqlsvm.compile.messages import TIE, Messages
from sqlsvm.compile.moments import counts_of
from sqlsvm.compile.resolve import COUNT, resolve
from sqlsvm.compile.scores import Scoring, fold_keys, weight_of
from sqlsvm.compile.statement import Asked, Statement, asked, statement
from sqlsvm.compile.tally import Tally, active_rows, active_table
from sqlsvm.compile.weighting import Residual
from sqlsvm.engine.base import Rows
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.interval import Sizes
from sqlsvm.solve.loss import Piece
from sqlsvm.solve.loss.arms import Parts

SQUARES = "squares of the sums"
POWERS = tuple(field.name for field in fields(Sizes))


def apart(plan: Plan) -> Plan | None:
    """The plan in which each row of the label's relation is a row of its node, or each of the one that it hangs from by
    a LEFT JOIN; None if it is part of a cycle."""
    node = plan.label_node
    if len(plan.tree.leading(node)) > 1:
        return None
    method = "grid" if plan.method == "sketch" else plan.method
    return replace(plan.in_place(), method=method, placed={})


def are_rows(plan: Plan) -> bool:
    """Is each row of the label's relation in one row of the join at most, and counts once? Then a cluster is a row."""
    return plan.centre is None and plan.label_node == plan.bags[0].core and not plan.design.weighted


def stepping(at: float, before: float, after: float) -> Parts:
    return Parts((at,), (Piece(at, before, 0.0, 0.0), Piece(at, after, 0.0, 0.0)))


def interpolated(places: Array, values: Array) -> Parts:
    """Linear between places, which rise, and constant beyond them."""
    ends, at = places.tolist(), values.tolist()
    inner = [
        Piece(left, start, (stop - start) / (right - left), 0.0)
        for left, right, start, stop in zip(ends[:-1], ends[1:], at[:-1], at[1:], strict=True)
    ]
    return Parts(tuple(ends), (Piece(ends[0], at[0], 0.0, 0.0), *inner, Piece(ends[-1], at[-1], 0.0, 0.0)))


def squares(plan: Plan, parts: Parts, code: int | None = None, centre: float | None = None) -> Iterator[Statement]:
    """SELECT the sum, and the sum of the squares, over the rows of the label's node, of what each adds up; only over
    those whose label has this code. For a label that is a number also the squares times (code - centre)^2. What
    `towards_centre` makes must be there."""
    yield from _counted(plan, parts, code)

    def answer(plan: Plan, node: int, counted: exp.Expr) -> Iterator[Statement]:
        if node == plan.label_node:
            c = sql.column(COUNT, "r")
            made = [(sql.sum_or_zero(c), "total"), (sql.sum_or_zero(sql.product(c, c)), "squares")]
            if centre is not None:
                made.append((sql.sum_or_zero(sql.product(sql.product(c, c), _spread(centre, "r"))), "spread"))
            of_class = [] if code is None else [sql.equal(sql.column(CODE, "r"), code)]
            yield statement(SQUARES, sql.where(sql.select(made, counted), *of_class))

    bag = plan.bags[plan.bag_of(plan.label_node)]
    yield from resolve(plan, bag.core, active_rows(bag.number), answer, lambda node: node == plan.label_node)


def _spread(centre: float, table: str) -> exp.Expression:
    off = sql.minus(sql.column(CODE, table), sql.number(centre))
    return sql.product(off, off)


def _counted(plan: Plan, parts: Parts, code: int | None) -> Iterator[Statement]:
    bag = plan.bags[plan.bag_of(plan.label_node)]
    if plan.centre is not None:
        tally = Tally(plan, signed=True, labelled=True)
        messages = Messages(plan, ties=tally.ties)
        tie = None if code is None else sql.equal(TIE, int(code < 0))
        yield from Meeting(Given(parts), messages, one_sided=True, only=tie).statements()
        yield from messages.back(messages.left)
        yield tally.counts(bag)
        return
    target = plan.design.target
    rows = sql.fenced(Scoring(plan).rows(bag.core, fold_keys(plan, bag.core)))
    y = target.sign(sql.column(CODE)) if target.signed else sql.number(1)
    u = _value(parts, Residual(target.origin(sql.column(CODE)), sql.product(y, "p")))
    kept = sql.columns(n for n in rows.named_selects if n not in ("p", "w"))
    made = sql.select([*kept, (sql.product(weight_of(rows), u), COUNT)], sql.derived(rows, "s"))
    yield statement("what rows count", made, active_table(bag.number))


def _value(parts: Parts, z: Residual) -> exp.Expression:
    def of(piece: Piece) -> exp.Expression:
        rise = [sql.product(sql.number(piece.slope), z.past(piece.at))] if piece.slope else []
        bent = [sql.product(sql.number(piece.bend / 2.0), z.past(piece.at), z.past(piece.at))] if piece.bend else []
        return sql.plus(sql.number(piece.value), *rise, *bent)

    made = of(parts.pieces[-1])
    for piece, end in zip(reversed(parts.pieces[:-1]), reversed(parts.ends), strict=True):
        made = sql.case(z.above(end), made, of(piece))
    return made


def sizes(plan: Plan, centre: float | None = None) -> Asked[Rows]:
    """SELECT how many rows of the label's node are in the join, and the sums of the powers of how many rows of the join
    each is in: of each class. For a label that is a number of all, and the squares times (code - centre)^2 and its
    square."""
    counts = replace(counts_of(plan, apart=False), apart=False)
    messages = (s for s in counts.messages() if s.name.startswith("count up"))
    node, total = plan.label_node, sql.column("total", "t")
    size = (sql.double(counts.total(node)), "total")
    rows = sql.derived(counts.joined(node, [*sql.columns([CODE], "n"), size]), "t")
    one = sql.case(sql.positive(total), 1.0, 0.0)
    powers = [one, *(sql.product(*[total] * power) for power in range(1, len(POWERS)))]
    made = [(sql.sum_or_zero(each), name) for name, each in zip(POWERS, powers, strict=True)]
    if centre is None:
        return asked("sizes of the clusters", sql.grouped(sql.columns([CODE], "t"), made, rows), dict, messages)
    square, spread = powers[2], _spread(centre, "t")
    made.append((sql.sum_or_zero(sql.product(square, spread)), "spread"))
    made.append((sql.sum_or_zero(sql.product(square, spread, spread)), "twice"))
    return asked("sizes of the clusters", sql.select(made, rows), dict, messages)
