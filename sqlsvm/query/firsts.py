"""The first row in an order, for each question about rows: one merge along a line.

    (SELECT v.x FROM visits v WHERE v.c = o.c AND v.day < o.day ORDER BY v.day DESC LIMIT 1)

The rows of a key are numbered from the last in the order to the first. A question has the row with the largest number
that is before its place on the line. With two ends, that row must also be on the right side of the far one.
"""

from collections.abc import Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.asked import Asker, Between, Question
from sqlsvm.query.ir import VALUE
from sqlsvm.query.line import AT, HIGH, End


def bare(asked: exp.Select) -> exp.Select:
    """Without its order and limit."""
    found = asked.copy()
    for clause in ("limit", "order"):
        found.set(clause, None)
    return found


def first_of(asked: exp.Select) -> list[exp.Ordered] | None:
    """The order, if a query keeps the first row of it."""
    order, limit = asked.args.get("order"), asked.args.get("limit")
    if not order or not limit:
        return None
    options = limit.args.get("limit_options")
    number = limit.args.get("expression") or limit.args.get("count")
    is_one = number is not None and number.name == "1" and not (options and options.args.get("with_ties"))
    return [item.copy() for item in order.expressions] if is_one else None


def can_order(question: Question, between: Between, order: Sequence[exp.Ordered]) -> bool:
    """What orders is in the rows: no place of an output, and no name of one. With two ends, the order begins at one."""
    is_plain = all(e.find(exp.Column) and between.are_of(e, inner=True) and not e.find(exp.Query) for e in order)
    return is_plain and (len(question.ends) < 2 or between.qualified(order[0].this) == question.point)


def first_rows(question: Question, asker: Asker, outputs: sql.Named, order: Sequence[exp.Ordered]) -> exp.Select:
    """Keys, ends and outputs. A question that has no row is not there."""
    keys, down = question.key_names, bool(order[0].args.get("desc"))
    ends = sorted(zip(question.ends, question.end_names, strict=True), key=lambda e: (e[0].kind == HIGH) is not down)
    values = [(value.copy(), f"y{i}") for i, (value, _) in enumerate(outputs)]
    point = [(question.point.copy(), "v")] if question.point else []
    rows = question.points([*point, *values, (_number(question, order), "n")])
    best = _upto(question, asker, *ends[0]) if ends else _last(keys)
    names = sql.columns([*keys, *question.end_names], "q")
    kept: sql.Named = [(sql.column(f"y{i}", "p"), name) for i, (_, name) in enumerate(outputs)]
    met = sql.join(
        shown(names, kept, sql.derived(best, "q")), sql.table("found", "p"), sql.same([*keys, "n"], "q", "p")
    )
    far = [end.met_by(sql.column("v", "p"), sql.column(name, "q")) for end, name in ends[1:]]
    return sql.where(met, *far).with_("found", rows, materialized=True)


def _number(question: Question, order: Sequence[exp.Ordered]) -> exp.Window:
    """From the last row of a key to the first."""
    turned = [
        exp.Ordered(this=e.this.copy(), desc=not e.args.get("desc"), nulls_first=not e.args.get("nulls_first"))
        for e in order
    ]
    by = [key.copy() for key, _ in question.keys]
    return exp.Window(this=exp.RowNumber(), partition_by=by or None, order=exp.Order(expressions=turned))


def _last(keys: Sequence[str]) -> exp.Select:
    return sql.grouped(sql.columns(keys), [(sql.largest("n"), "n")], sql.table("found"))


def _upto(question: Question, asker: Asker, end: End, name: str) -> exp.Select:
    """The largest number on the side of an end."""
    keys, ends = question.key_names, question.end_names
    nothing = [(exp.null(), e) for e in ends]
    points = sql.select([*sql.columns([*keys, "v"]), (sql.integer(AT), "place"), *nothing, (sql.column("n"), "n")])
    asking = sql.select([*sql.columns(keys), (sql.column(name), "v"), (sql.integer(end.place), "place")])
    asking = sql.also(asking, [*sql.columns(ends), (exp.null(), "n")])
    questions = asking.from_(sql.derived(question.questions(asker.item), "q"))
    line = sql.union_all(points.from_(sql.table("found")), questions)
    return end.questions(line, keys, "v", [*keys, *ends], [(sql.largest("n"), "n")])


def shown(names: sql.Named, outputs: sql.Named, source: exp.Expr) -> exp.Select:
    """What is for joins has names that * leaves out."""
    every = [*((value, f"{VALUE}_{name}") for value, name in names), *outputs]
    return exp.Select(expressions=[exp.alias_(value, name, quoted=True) for value, name in every]).from_(source)
