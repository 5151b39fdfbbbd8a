"""Correlated sub-queries -> LEFT JOINs with their answers, which the database finds in n log n instead of n m.

    SELECT o.*, (SELECT AVG(v.x) FROM visits v WHERE v.c = o.c AND v.day < o.day) AS mean FROM orders o
    SELECT o.*, a.a0 AS mean FROM orders o LEFT JOIN (answers) AS a ON a.k0 = o.c AND a.e0 = o.day

Without a condition of order, the answers are groups. With one end, all questions and rows stand on one line, and a
window runs along it. A question is just before or just after the rows that are equal to it, so ties never matter. With
two ends, each node of the tree of slots (query/line.py) has the aggregate of its rows, and an interval those of its
nodes. A NULL finds no answer: COUNT is 0 then, as of no rows.

The first row in an order, for each question about rows: one merge along a line.

    (SELECT v.x FROM visits v WHERE v.c = o.c AND v.day < o.day ORDER BY v.day DESC LIMIT 1)

The rows of a key are numbered from the last in the order to the first. A question has the row with the largest number
that is before its place on the line. With two ends, that row must also be on the right side of the far one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.asked import Asker, Between, Question, sub_queries
from sqlsvm.query.faults import Fault
from sqlsvm.query.forms import outer_expressions
from sqlsvm.query.guards import Fragment, is_aggregate
from sqlsvm.query.ir import ANSWER, VALUE
from sqlsvm.query.line import AT, HIGH, NODE, POINT, End, is_, point_nodes, slots, spanning_nodes
from sqlsvm.query.sources import without

_FIRST = "limit", "order"


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
    last = [(sql.largest("n"), "n")]
    best = _upto(question, asker, *ends[0]) if ends else sql.grouped(sql.columns(keys), last, sql.table("found"))
    names = sql.columns([*keys, *question.end_names], "q")
    kept: sql.Named = [(sql.column(f"y{i}", "p"), name) for i, (_, name) in enumerate(outputs)]
    found = shown(names, kept, sql.derived(best, "q"))
    met = sql.join(found, sql.table("found", "p"), sql.same([*keys, "n"], "q", "p"))
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


FAN = 4  # slots to a node, and nodes to one of the next level: rows tend to be more than the questions about them
_MERGED = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr)
"""What is known of all rows, if it is known of parts of them."""
_RUNNING = (*_MERGED, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop)
"""These ignore NULL, and are NULL of no rows, but COUNT is 0."""
_WHOLE = exp.Window, exp.WithinGroup, exp.Query, exp.IgnoreNulls, exp.RespectNulls


@dataclass
class Answers:
    """What is asked about the same rows. `values` are what is aggregated there."""

    question: Question
    alias: str
    values: list[exp.Expression] = field(default_factory=list)
    asked: list[exp.Expression] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [*self.question.key_names, *self.question.end_names]

    @property
    def inputs(self) -> list[str]:
        return [f"x{i}" for i in range(len(self.values))]

    def value(self, aggregate: exp.Expression, of: exp.Expression) -> exp.Expression:
        """A column of the answers, in place of an aggregate of an expression."""
        asked = aggregate.copy()
        if of not in self.values:
            self.values.append(of)
        asked.set("this", sql.column(self.inputs[self.values.index(of)]))
        if asked not in self.asked:
            self.asked.append(asked)
        found = sql.named(f"{VALUE}_a{self.asked.index(asked)}", self.alias)
        return sql.coalesce(found, 0) if isinstance(asked, exp.Count) else found

    def joined(self, rows: exp.Select, asker: Asker) -> exp.Select:
        results: sql.Named = [(sql.column(f"a{i}", "r"), f"{VALUE}_a{i}") for i in range(len(self.asked))]
        names = sql.columns(self.names, "r")
        return _with(rows, self.question, shown(names, results, sql.derived(self._found(asker), "r")), self.alias)

    def _found(self, asker: Asker) -> exp.Select:
        if not self.question.ends:
            results = [(asked, f"a{i}") for i, asked in enumerate(self.asked)]
            return sql.grouped(sql.columns(self.names), results, sql.derived(self._rows([]), "v"))
        questions = self.question.questions(asker.item)
        return self._running(questions) if len(self.question.ends) == 1 else self._merged(questions, asker)

    def _rows(self, more: sql.Named) -> exp.Select:
        """Rows of the question, with what is aggregated."""
        inputs = [(value.copy(), name) for value, name in zip(self.values, self.inputs, strict=True)]
        return self.question.points([*more, *inputs])

    # -- one end -------------------------------------------------------------------------------------------------------

    def _running(self, questions: exp.Select) -> exp.Select:
        (end,) = self.question.ends
        assert self.question.point
        points = self._rows([(self.question.point.copy(), "e0"), (sql.integer(AT), "place")])
        asking = sql.select([*sql.columns(self.names), (sql.integer(end.place), "place"), *self._nothing()])
        line = sql.union_all(points, asking.from_(sql.derived(questions, "q")))
        runs = [(a.copy(), f"a{i}") for i, a in enumerate(self.asked)]
        return end.questions(line, self.question.key_names, "e0", self.names, runs)

    def _nothing(self) -> sql.Named:
        return [(exp.null(), name) for name in self.inputs]

    # -- two ends ------------------------------------------------------------------------------------------------------

    def _merged(self, questions: exp.Select, asker: Asker) -> exp.Select:
        kinds = {end.kind for end in self.question.ends}
        nodes = spanning_nodes(sql.table("slots"), self.names, kinds, FAN)
        partial = [part for a in self.asked for part in _parts(a)]
        parts = list(dict.fromkeys(partial))
        inner = [(part.copy(), f"p{i}") for i, part in enumerate(parts)]
        by_slot = sql.grouped(sql.columns(["at", "base", "most"]), inner, sql.table("slots")).where(is_(POINT))
        nodes_of = point_nodes(by_slot, [name for _, name in inner], FAN)
        again = [(_again(part, f"p{i}"), f"p{i}") for i, part in enumerate(parts)]
        by_node = sql.grouped(sql.columns([NODE]), again, sql.derived(nodes_of, "n"))
        of_intervals = exp.Select().from_(sql.derived(nodes, "q"), copy=False)
        met = sql.join(of_intervals, sql.derived(by_node, "n"), sql.same([NODE], "q", "n"))
        results = [(_whole(a, parts), f"a{i}") for i, a in enumerate(self.asked)]
        typed = [(exp.cast(e, t) if t else e, n) for (e, n), t in zip(results, self._types(asker), strict=True)]
        found = sql.also(met, [*sql.columns(self.names, "q"), *typed])
        found = sql.group(found, [sql.column(n, "q") for n in self.names])
        line, kept = self._ends_and_points(questions), [*self.question.end_names, *self.inputs]
        return found.with_("slots", slots(line, self.question.key_names, kept), materialized=True)

    def _ends_and_points(self, questions: exp.Select) -> exp.Query:
        """The points stand in the middle, so that each NULL has the type of a column of its neighbour."""
        assert self.question.point
        more = [*((exp.null(), e) for e in self.question.end_names), *_place(self.question.point.copy(), AT, POINT)]
        points = self._rows(more)
        asking = []
        for end, name in zip(self.question.ends, self.question.end_names, strict=True):
            placed = _place(sql.column(name), end.place, end.kind)
            outputs = [*sql.columns(self.names), *placed, *self._nothing()]
            asking.append(sql.select(outputs, sql.derived(questions.copy(), "q")))
        first, second = asking
        return sql.union_all(sql.union_all(first, points), second)

    def _types(self, asker: Asker) -> Iterator[exp.DataType | None]:
        """Those that sums of sums may not have."""
        of = sql.select([(a.copy(), f"a{i}") for i, a in enumerate(self.asked)], sql.derived(self._rows([]), "v"))
        for asked, column in zip(self.asked, asker.described(of) or (), strict=True):
            sums = isinstance(asked, exp.Count | exp.Sum | exp.Avg)
            yield exp.DataType.build(column.type, dialect=asker.dialect) if sums else None


def _place(value: exp.Expression, place: int, which: int) -> sql.Named:
    return [(value, "v"), (sql.integer(place), "place"), (sql.integer(which), "which")]


def _parts(aggregate: exp.Expression) -> list[exp.Expression]:
    if isinstance(aggregate, exp.Avg):
        return [sql.total(aggregate.this.copy()), exp.Count(this=aggregate.this.copy(), big_int=True)]
    return [aggregate]


def _again(part: exp.Expression, name: str) -> exp.Expression:
    kind = exp.Sum if isinstance(part, exp.Count) else type(part)
    return kind(this=sql.column(name))


def _whole(aggregate: exp.Expression, parts: Sequence[exp.Expression]) -> exp.Expression:
    found = [_again(part, f"p{parts.index(part)}") for part in _parts(aggregate)]
    return sql.ratio(found[0], found[1]) if len(found) > 1 else found[0]


@dataclass
class Firsts:
    """What is asked about the first of the same rows in the same order."""

    question: Question
    order: Sequence[exp.Ordered]
    alias: str
    values: list[exp.Expression] = field(default_factory=list)

    def value(self, of: exp.Expression) -> exp.Expression:
        if of not in self.values:
            self.values.append(of)
        return sql.named(f"{VALUE}_y{self.values.index(of)}", self.alias)

    def joined(self, rows: exp.Select, asker: Asker) -> exp.Select:
        outputs = [(value, f"{VALUE}_y{i}") for i, value in enumerate(self.values)]
        return _with(rows, self.question, first_rows(self.question, asker, outputs, self.order), self.alias)


def _with(rows: exp.Select, question: Question, found: exp.Select, alias: str) -> exp.Select:
    pairs = zip([*question.key_names, *question.end_names], question.asking, strict=True)
    on = [sql.equal(sql.named(f"{VALUE}_{name}", alias), value.copy()) for name, value in pairs]
    return sql.join(rows, sql.aliased(found, alias), on, "left")


# -- the sub-queries ---------------------------------------------------------------------------------------------------


class _Found:
    """The answers to each question. Sub-queries that ask the same share them."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.aggregates: dict[Question, Answers] = {}
        self.firsts: dict[tuple[Question, tuple[exp.Ordered, ...]], Firsts] = {}

    def value(self, value: exp.Subquery | exp.Exists) -> exp.Expression | None:
        """What stands for a sub-query; None if it is not of this kind."""
        asked = _counted(value.this) if isinstance(value, exp.Exists) else value.this
        order = first_of(asked) if asked else None
        read = self.asker.question(without(asked, *_FIRST) if order else asked) if asked else None
        if not asked or not read or len(asked.selects) != 1:
            return None
        if isinstance(value, exp.Exists) and not read[0].ends:
            return None
        output = cast(exp.Expression, asked.selects[0].unalias().copy())
        return self._first(output, order, *read) if order else self._aggregated(output, *read)

    def _first(
        self, output: exp.Expression, order: list[exp.Ordered], question: Question, between: Between
    ) -> exp.Expression | None:
        is_plain = between.are_of(output, inner=True) and not output.find(*_WHOLE) and not _aggregates(output)
        if not is_plain or not can_order(question, between, order):
            return None
        alias = f"{ANSWER}_first{len(self.firsts)}"
        return self.firsts.setdefault((question, tuple(order)), Firsts(question, order, alias)).value(output)

    def _aggregated(self, output: exp.Expression, question: Question, between: Between) -> exp.Expression | None:
        aggregates = _aggregates(output)
        can = _RUNNING if len(question.ends) < 2 else _MERGED
        taken = [_input(node, can) for node in aggregates]
        if not all(taken) or not taken or output.find(*_WHOLE):
            return None
        if not all(between.are_of(pair[1], inner=True) for pair in taken if pair):
            return None
        alias = f"{ANSWER}{len(self.aggregates)}"
        answers = self.aggregates.setdefault(question, Answers(question, alias))
        result = exp.Paren(this=output)
        for node, pair in zip(aggregates, taken, strict=True):
            assert pair
            node.replace(answers.value(*pair))
        return between.qualified(result)


def answered(rows: exp.Select, asker: Asker) -> exp.Select:
    """SELECT o.*, values FROM o WHERE conditions, with answers in place of those sub-queries that have one."""
    made, found = rows.copy(), _Found(asker)
    for value in [value for root in outer_expressions(made) for value in sub_queries(root)]:
        if (answer := found.value(value)) is not None:
            value.replace(exp.alias_(answer, value.alias, quoted=True) if value.alias else answer)
    every: list[Answers | Firsts] = [*found.aggregates.values(), *found.firsts.values()]
    for answers in every:
        made = answers.joined(made, asker)
    if every and asker.described(made) is None:
        raise Fault(f"joined answers in place of sub-queries: {Fragment(made, asker.dialect)}")
    return made if every else rows


def _counted(asked: exp.Expr) -> exp.Select | None:
    """EXISTS is whether there is a row. The rows of SELECT ... LIMIT 1 are enough for it."""
    if not isinstance(asked, exp.Select) or any(is_aggregate(n) for e in asked.selects for n in e.walk()):
        return None
    limit = asked.args.get("limit")
    if limit and (not isinstance(limit, exp.Limit) or limit.expression.name in ("", "0")):
        return None
    return without(asked, *_FIRST, outputs=[sql.more(exp.Count(this=exp.Star(), big_int=True), 0)])


def _aggregates(output: exp.Expr) -> list[exp.Expr]:
    found = []
    for node in output.walk(prune=lambda n: isinstance(n, exp.Filter) or is_aggregate(n)):
        if isinstance(node, exp.Filter) or is_aggregate(node):
            found.append(node)
    return found


def _input(node: exp.Expr, can: tuple[type[exp.Expr], ...]) -> tuple[exp.Expression, exp.Expression] | None:
    """The aggregate, and what of: NULL for a row that FILTER leaves out."""
    aggregate = node.this if isinstance(node, exp.Filter) else node
    value = aggregate.this
    if not isinstance(aggregate, can) or aggregate.expressions or isinstance(value, exp.Order | exp.Distinct):
        return None
    value = sql.integer(1) if isinstance(value, exp.Star) else value.copy()
    if isinstance(node, exp.Filter):
        value = sql.case(node.expression.this.copy(), value)
    return cast(exp.Expression, aggregate), value
