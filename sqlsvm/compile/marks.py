"""A pass for several classes at once over one bag, where a row counts whole or not at all.

A row of the join gets a mark: a number with a bit for each class, which is 1 if the row counts for that class. Rows
with the same mark and the same label are added up once for all classes. The sums of a class are those of the marks
that have its bit. So only scores and marks cost more with more classes.
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.resolve import COUNT
from sqlsvm.compile.scores import Scoring, Vector, carried
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.compile.together import MEMBER, TOGETHER
from sqlsvm.compile.weighting import Residual, Step
from sqlsvm.plan.parameters import MEMBERS
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.sql import Named

BITS = 10
"""Classes in one statement: with more of them, marks would differ too much to be added up."""
MARK, WEIGHT, SIGN = "mark", "w", "sign"


def marked_pass(plan: Plan, weighting: Step, classes: int) -> Statement:
    """SELECT m, the totals, SUM(c x) for each coordinate, SUM(c), by class and categories: as `pass_together`"""
    sign, c = sql.column(SIGN, "r"), sql.column(COUNT, "r")
    sums: Named = [*weighting.totals(False, plan.design.target.origin(sql.column(CODE, "r"))), (c, COUNT)]
    sums += [(sql.product(sign.copy(), sql.column(x.column, "r")), x.column) for x in plan.design.coordinates]
    keys = sql.columns([MEMBER, *_numbers(plan)], "r")
    counted = sql.derived(_by_class(plan, weighting, classes), "r")
    return statement(TOGETHER, sql.grouped(keys, [(sql.sum_or_zero(value), name) for value, name in sums], counted))


def _by_class(plan: Plan, weighting: Step, classes: int) -> exp.Select:
    """SELECT m, the sums of a mark, the sign of its rows, sign * w AS c, for each mark and each class that it has"""
    sums, sign = _sums(plan, weighting, classes), _sign(sql.column(CODE, "g"), sql.column(MEMBER, "t"))
    made = [*sql.columns((n for n in sums.named_selects if n not in (MARK, WEIGHT)), "g"), *sql.columns([MEMBER], "t")]
    made += [(sign, SIGN), (sql.product(sign.copy(), sql.column(WEIGHT, "g")), COUNT)]
    found = sql.join(sql.select(made, sql.derived(sql.fenced(sums), "g")), sql.derived(_members(classes), "t"), ())
    has_bit = exp.BitwiseAnd(this=sql.column(MARK, "g"), expression=sql.column("bit", "t"))
    return sql.where(found, sql.positive(exp.paren(has_bit)))


def _members(classes: int) -> exp.Select:
    """SELECT the code of each class AS m, its bit"""
    bits = [exp.If(this=sql.integer(k), true=sql.integer(1 << (k - 1))) for k in range(1, classes + 1)]
    found: Named = [(sql.column("u", "p"), MEMBER), (exp.Case(this=sql.column("j", "p"), ifs=bits), "bit")]
    return sql.select(found, sql.items(sql.array(MEMBERS), "p", "u", "j"))


def _sums(plan: Plan, weighting: Step, classes: int) -> exp.Select:
    """SELECT y, mark, category numbers, SUM(w), SUM(w x) for each coordinate"""
    rows = _marked(plan, weighting, classes)
    w = sql.double(sql.column(WEIGHT, "r")) if WEIGHT in rows.named_selects else sql.number(1)
    sums: Named = [(w, WEIGHT), *((sql.product(w.copy(), x.of("r")), x.column) for x in plan.design.coordinates)]
    keys = sql.columns([CODE, MARK, *_numbers(plan)], "r")
    return sql.grouped(keys, [(sql.total(value), name) for value, name in sums], sql.derived(rows, "r"))


def _marked(plan: Plan, weighting: Step, classes: int) -> exp.Select:
    """SELECT x.., category numbers, y, w, mark FROM rows with a score for each class"""
    core, vectors = plan.bags[0].core, [Vector(f"p{k}", k * plan.design.size) for k in range(classes)]
    rows = Scoring(plan, whole=True, vectors=vectors).rows(core, (), carried(plan, core))
    dropped = {v.score for v in vectors} | {d.column for d in plan.design.dictionaries}
    made = sql.columns((n for n in rows.named_selects if n not in dropped), "s")
    made += [(d.listing(sql.integer, "s"), number_column(d)) for d in plan.design.dictionaries]
    made.append((sql.plus(*_bits(plan, weighting, vectors)), MARK))
    return sql.select(made, sql.derived(sql.fenced(rows), "s"))


def _bits(plan: Plan, weighting: Step, vectors: list[Vector]) -> Iterator[exp.Expression]:
    y = sql.column(CODE, "s")
    for k, v in enumerate(vectors):
        sign = _sign(y.copy(), sql.element(sql.array(MEMBERS), sql.integer(k + 1)))
        z = Residual(plan.design.target.origin(y.copy()), sql.product(sign, sql.column(v.score, "s")))
        yield sql.case(weighting.counts(z), sql.integer(1 << k), sql.integer(0))


def _sign(y: exp.Expression, member: exp.Expression) -> exp.Expression:
    return sql.case(sql.equal(y, member), sql.integer(1), exp.Neg(this=sql.integer(1)))


def _numbers(plan: Plan) -> list[str]:
    return [number_column(d) for d in plan.design.dictionaries]
