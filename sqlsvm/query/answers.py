"""Correlated sub-queries -> LEFT JOINs with their answers, which the database finds in n log n instead of n m.

    SELECT o.*, (SELECT AVG(v.x) FROM visits v WHERE v.c = o.c AND v.day < o.day) AS mean FROM orders o
    SELECT o.*, a.a0 AS mean FROM orders o LEFT JOIN (answers) AS a ON a.k0 = o.c AND a.e0 = o.day

Without a condition of order, the answers are groups. With one end, all questions and rows stand on one line, and a
window runs along it. A question is just before or just after the rows that are equal to it, so ties never matter. With
two ends, each node of the tree of slots (query/line.py) has the aggregate of its rows, and an interval those of its
nodes. A NULL finds no answer: COUNT is 0 then, as of no rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.asked import Asker, Question, sub_queries
from sqlsvm.query.forms import outer_expressions
from sqlsvm.query.guards import varying
from sqlsvm.query.known_functions import is_aggregate
from sqlsvm.query.line import AT, LOW, NODE, POINT, is_, place_of, point_nodes, slots, spanning_nodes
from sqlsvm.query.sources import source_of

ANSWER = f"{sql.WORKING}answer"

_MERGED = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr)
"""What is known of all rows, if it is known of parts of them."""
_RUNNING = (*_MERGED, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop)
"""These ignore NULL, and are NULL of no rows, but COUNT is 0."""
_WHOLE = exp.Window, exp.WithinGroup, exp.Query, exp.IgnoreNulls, exp.RespectNulls
_INTEGERS = {"smallint", "integer", "bigint", "int2", "int4", "int8"}
_TIMES = {"date", "timestamp", "timestamp without time zone"}
_TEXTS = {"text", "varchar", "character varying"}


@dataclass
class Answers:
    """What is asked about the same rows. `values` are what is aggregated there."""

    question: Question
    alias: str
    values: list[exp.Expression] = field(default_factory=list)
    asked: list[exp.Expression] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.question.keys))]

    @property
    def ends(self) -> list[str]:
        return [f"e{i}" for i in range(len(self.question.ends))]

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
        found = sql.named(f"{ANSWER}_a{self.asked.index(asked)}", self.alias)
        return sql.coalesce(found, sql.integer(0)) if isinstance(asked, exp.Count) else found

    def joined(self, rows: exp.Select, asker: Asker) -> exp.Select:
        asking = [*(outer for _, outer in self.question.keys), *(end.value for end in self.question.ends)]
        names = [*self.keys, *self.ends]
        results = [f"a{i}" for i in range(len(self.asked))]
        own = [(sql.column(name, "r"), f"{ANSWER}_{name}") for name in (*names, *results)]
        quoted = [exp.alias_(value, name, quoted=True) for value, name in own]
        found = exp.Select(expressions=quoted).from_(sql.derived(self._found(asker, names, asking), "r"))
        pairs = zip(names, asking, strict=True)
        on = [sql.equal(sql.named(f"{ANSWER}_{name}", self.alias), value.copy()) for name, value in pairs]
        return sql.join(rows, sql.aliased(found, self.alias), on, "left")

    def _found(self, asker: Asker, names: Sequence[str], asking: Sequence[exp.Expression]) -> exp.Select:
        if not self.question.ends:
            results = [(asked, f"a{i}") for i, asked in enumerate(self.asked)]
            return sql.grouped(sql.columns(self.keys), results, sql.derived(self._rows([]), "v"))
        questions = sql.select([(value.copy(), name) for value, name in zip(asking, names, strict=True)])
        questions = questions.from_(asker.item.copy()).where(*(sql.not_null(value) for value in asking)).distinct()
        return self._running(questions) if len(self.ends) == 1 else self._merged(questions, asker)

    def _rows(self, more: sql.Named) -> exp.Select:
        """Rows of the question, with their keys and what is aggregated."""
        keys = [(inner.copy(), name) for (inner, _), name in zip(self.question.keys, self.keys, strict=True)]
        inputs = [(value.copy(), name) for value, name in zip(self.values, self.inputs, strict=True)]
        point = [self.question.point] if self.question.point else []
        present = (sql.not_null(e) for e in (*(key for key, _ in keys), *point))
        found = self.question.rows.copy().where(*present)
        return found.select(*(exp.alias_(e, name, copy=False) for e, name in [*keys, *more, *inputs]))

    # -- one end -------------------------------------------------------------------------------------------------------

    def _running(self, questions: exp.Select) -> exp.Select:
        (end,) = self.question.ends
        assert self.question.point
        points = self._rows([(self.question.point.copy(), "e0"), (sql.integer(AT), "place")])
        asking = sql.select([*sql.columns([*self.keys, "e0"]), (sql.integer(end.place), "place"), *self._nothing()])
        line = sql.union_all(points, asking.from_(sql.derived(questions, "q")))
        runs = [
            (
                sql.window(a.copy(), self.keys, ("e0", "place"), running=True, descending=end.kind == LOW),
                f"a{i}",
            )
            for i, a in enumerate(self.asked)
        ]
        found = sql.select([*sql.columns([*self.keys, "e0", "place"]), *runs], sql.derived(line, "line"))
        is_question = exp.NEQ(this=sql.column("place"), expression=sql.integer(AT))
        return exp.select("*").from_(sql.derived(found, "f")).where(is_question)

    def _nothing(self) -> sql.Named:
        return [(exp.null(), name) for name in self.inputs]

    # -- two ends ------------------------------------------------------------------------------------------------------

    def _merged(self, questions: exp.Select, asker: Asker) -> exp.Select:
        names = [*self.keys, *self.ends]
        kinds = {end.kind for end in self.question.ends}
        nodes = spanning_nodes(sql.table("slots"), names, kinds)
        partial = [part for a in self.asked for part in _parts(a)]
        parts = list(dict.fromkeys(partial))
        inner = [(part.copy(), f"p{i}") for i, part in enumerate(parts)]
        most = (exp.Max(this=sql.column("most")), "most")
        by_slot = sql.select([*sql.columns([*self.keys, "slot"]), most, *inner], sql.table("slots")).where(is_(POINT))
        by_slot = sql.group(by_slot, [sql.column(n) for n in (*self.keys, "slot")])
        own = [*self.keys, *(name for _, name in inner)]
        placed = sql.select(place_of(own), sql.derived(by_slot, "s"))
        again = [(_again(part, f"p{i}"), f"p{i}") for i, part in enumerate(parts)]
        by_node = sql.grouped(sql.columns([*self.keys, NODE]), again, sql.derived(point_nodes(placed, own), "n"))
        met = sql.join(
            exp.Select().from_(sql.derived(nodes, "q"), copy=False),
            sql.derived(by_node, "n"),
            sql.same([*self.keys, NODE], "q", "n"),
        )
        results = [(_whole(a, parts), f"a{i}") for i, a in enumerate(self.asked)]
        typed = [(exp.cast(e, t) if t else e, n) for (e, n), t in zip(results, self._types(asker), strict=True)]
        found = sql.also(met, [*sql.columns(names, "q"), *typed])
        found = sql.group(found, [sql.column(n, "q") for n in names])
        return found.with_(
            "slots", slots(self._ends_and_points(questions), self.keys, [*self.ends, *self.inputs]), materialized=True
        )

    def _ends_and_points(self, questions: exp.Select) -> exp.Query:
        """The points stand in the middle, so that each NULL has the type of a column of its neighbour."""
        assert self.question.point
        more = [*((exp.null(), e) for e in self.ends), *_place(self.question.point.copy(), AT, POINT)]
        points = self._rows(more)
        asking = []
        for end, name in zip(self.question.ends, self.ends, strict=True):
            placed = _place(sql.column(name), end.place, end.kind)
            outputs = [*sql.columns([*self.keys, *self.ends]), *placed, *self._nothing()]
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
        return [exp.Sum(this=aggregate.this.copy()), exp.Count(this=aggregate.this.copy(), big_int=True)]
    return [aggregate]


def _again(part: exp.Expression, name: str) -> exp.Expression:
    """The same of some parts."""
    kind = exp.Sum if isinstance(part, exp.Count) else type(part)
    return kind(this=sql.column(name))


def _whole(aggregate: exp.Expression, parts: Sequence[exp.Expression]) -> exp.Expression:
    found = [_again(part, f"p{parts.index(part)}") for part in _parts(aggregate)]
    return exp.Div(this=found[0], expression=found[1]) if len(found) > 1 else found[0]


# -- the sub-queries ---------------------------------------------------------------------------------------------------


def answered(rows: exp.Select, asker: Asker) -> exp.Select:
    """SELECT o.*, values FROM o WHERE conditions, with answers in place of those sub-queries that have one."""
    if varying(source_of(asker.item, asker.around, asker.fold).expression, asker.dialect):
        return rows
    made, found = rows.copy(), dict[Question, Answers]()
    for root in outer_expressions(made):
        for value in sub_queries(root):
            _answer(value, asker, found)
    used = [answers for answers in found.values() if answers.asked]
    for answers in used:
        made = answers.joined(made, asker)
    return made if used and asker.described(made) is not None else rows


def _answer(value: exp.Subquery | exp.Exists, asker: Asker, found: dict[Question, Answers]) -> None:
    asked = _counted(value.this) if isinstance(value, exp.Exists) else value.this
    read = asker.question(asked) if asked else None
    if not asked or not read:
        return
    question, names = read
    if isinstance(value, exp.Exists) and not question.ends:
        return
    output = asked.selects[0].unalias().copy()
    aggregates = _aggregates(output)
    can = _RUNNING if len(question.ends) < 2 else _MERGED
    taken = [_input(node, can) for node in aggregates]
    if len(asked.selects) != 1 or not all(taken) or not taken or output.find(*_WHOLE):
        return
    if not all(names.are_of(pair[1], inner=True) for pair in taken if pair) or not _are_alike(question, asker):
        return
    answers = found.setdefault(question, Answers(question, f"{ANSWER}{len(found)}"))
    result: exp.Expression = exp.Paren(this=output)
    for node, pair in zip(aggregates, taken, strict=True):
        assert pair
        node.replace(answers.value(*pair))
    made = names.qualified(result)
    value.replace(exp.alias_(made, value.alias, quoted=True) if value.alias else made)


def _counted(asked: exp.Expr) -> exp.Select | None:
    """EXISTS is whether there is a row. The rows of SELECT ... LIMIT 1 are enough for it."""
    if not isinstance(asked, exp.Select) or any(is_aggregate(n) for e in asked.selects for n in e.walk()):
        return None
    found = asked.copy()
    limit = found.args.get("limit")
    if limit and (not isinstance(limit, exp.Limit) or limit.expression.name in ("", "0")):
        return None
    count = exp.GT(this=exp.Count(this=exp.Star(), big_int=True), expression=sql.integer(0))
    for clause in ("limit", "order"):
        found.set(clause, None)
    found.set("expressions", [count])
    return found


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


def _are_alike(question: Question, asker: Asker) -> bool:
    """On one line, values of two types might compare otherwise than in a condition."""
    inner = [*(key for key, _ in question.keys), *([question.point] if question.point else [])]
    outer = [key for _, key in question.keys]
    ends = [end.value for end in question.ends]
    theirs = _types(question.rows, inner, asker)
    mine = _types(exp.Select().from_(asker.item.copy()), [*outer, *ends], asker)
    if theirs is None or mine is None:
        return False
    size = len(outer)
    pairs = [*zip(theirs[:size], mine[:size], strict=True), *((theirs[-1], end) for end in mine[size:])]
    return all(_alike(one, other) for one, other in pairs)


def _types(rows: exp.Select, values: Sequence[exp.Expression], asker: Asker) -> list[str] | None:
    of = rows.copy().select(*(exp.alias_(v.copy(), f"c{i}") for i, v in enumerate(values)))
    columns = asker.described(of)
    return None if columns is None else [column.type.lower() for column in columns]


def _alike(one: str, other: str) -> bool:
    return one == other or any({one, other} <= family for family in (_INTEGERS, _TIMES, _TEXTS))
