"""A model as one plain SQL expression, and a query with score and prediction as two more columns.

        CAST(0.5e0 AS DOUBLE PRECISION) + CAST(-0.25e0 AS DOUBLE PRECISION) * CAST("distance" AS DOUBLE PRECISION)
            + CASE "carrier" WHEN 'UA' THEN CAST(0.1e0 AS DOUBLE PRECISION) ELSE CAST(0e0 AS DOUBLE PRECISION) END

A value that training has not seen has weight 0, or that of all others if there is one. A NULL in a number is replaced
by the stored mean, and a NULL in a category has weight 0. If rows with a NULL were left out of the training, the score
is NULL.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Kind
from sqlsvm.model.model import Model, Term
from sqlsvm.plan.design import as_number

SCORE, PREDICTION = "score", "prediction"


@dataclass(frozen=True)
class Operand:
    """The values of a feature in the rows to score, and their kind there."""

    value: exp.Expression
    kind: Kind


Operands = Callable[[Term], Operand]


def predictions(
    rows: exp.Query, score: exp.Expression, labels: tuple[object, object], type: str | None = None
) -> exp.Select:
    """SELECT r.*, score, prediction FROM (rows) AS r; the expression sees the columns of r. `type` is that of
    predictions, if it is not that of the values."""
    scored = _with_more(rows, [(score, SCORE)], "r")
    found = prediction(exp.column(SCORE, table="s"), labels)
    return _with_more(scored, [(exp.cast(found, type) if type else found, PREDICTION)], "s")


def numbers(rows: exp.Query, score: exp.Expression) -> exp.Select:
    """SELECT r.*, score, the same as prediction FROM (rows) AS r: where the label is a number."""
    return _with_more(_with_more(rows, [(score, SCORE)], "r"), [(exp.column(SCORE, table="s"), PREDICTION)], "s")


def prediction(score: exp.Expression, labels: tuple[object, object]) -> exp.Expression:
    """The label's own value, from (negative, positive): negative for a score of 0, NULL for NULL or NaN. On both
    engines NaN is greater than all numbers."""
    negative, positive = (literal(value) for value in labels)
    is_negative = exp.LTE(this=score.copy(), expression=sql.integer(0))
    is_number = exp.LT(this=score.copy(), expression=sql.double(exp.Literal.string("NaN")))
    return exp.Case(ifs=[exp.If(this=is_negative, true=negative), exp.If(this=is_number, true=positive)])


def _with_more(rows: exp.Query, outputs: sql.Outputs, alias: str) -> exp.Select:
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier(alias))
    found = exp.select(everything, *(exp.alias_(e, name) for e, name in outputs))
    return found.from_(sql.derived(rows, alias), copy=False)


# -- the score ---------------------------------------------------------------------------------------------------------


def score(model: Model, operands: Operands) -> exp.Expression:
    """intercept + the sum of weight * value."""
    total = exact(model.intercept)
    for term in model.terms:
        total = exp.Add(this=total, expression=_term(term, operands(term), model.nulls))
    return total


def _term(term: Term, operand: Operand, nulls: str) -> exp.Expression:
    number = term.number
    if number is None:
        return _category_weight(term, operand, nulls)
    value = as_number(operand.value, operand.kind)
    if number.missing is not None:
        value = sql.coalesce(value, exact(number.missing))
    return sql.product(exact(number.weight), value)


def _category_weight(term: Term, operand: Operand, nulls: str) -> exp.Expression:
    """CASE value WHEN category THEN weight ... ELSE 0 END, or ELSE the weight of all others; a NULL is none of them."""
    value, categories = _comparable(operand, term.weights[0].category), [w.category for w in term.categories]
    if term.spelling == "caseless":
        value, categories = exp.Lower(this=sql.text(value)), [str(category).lower() for category in categories]
    pairs = zip(categories, term.categories, strict=True)
    branches = [exp.If(this=literal(category), true=exact(w.weight)) for category, w in pairs]
    found = exp.Case(this=value, ifs=branches, default=exact(term.others or 0.0))
    if nulls == "drop":
        return sql.case(sql.not_null(operand.value), found)
    return found if term.others is None else sql.case(sql.not_null(operand.value), found, exact(0.0))


def _comparable(operand: Operand, category: object) -> exp.Expression:
    """The value in a type that compares with the categories. The cast refuses a text that is no number or boolean."""
    own = operand.value.copy()
    if isinstance(category, bool):
        return own if operand.kind == "boolean" else exp.cast(own, exp.DType.BOOLEAN)
    if isinstance(category, int | float):
        return own if operand.kind == "numeric" else sql.double(own)
    return own if operand.kind == "categorical" else sql.text(own)


# -- literals ----------------------------------------------------------------------------------------------------------


def exact(value: float) -> exp.Expression:
    """An exact double. Because of the exponent, no engine reads it as a decimal with fewer digits.

    >>> exact(-0.1).sql("postgres")
    'CAST(-0.1e0 AS DOUBLE PRECISION)'
    """
    if not isfinite(value):
        return sql.double(exp.Literal.string(repr(float(value))))
    text = repr(abs(float(value)))
    number: exp.Expression = exp.Literal.number(text if "e" in text else f"{text}e0")
    return sql.double(exp.Neg(this=number) if float(value) < 0 else number)


def literal(value: object) -> exp.Expression:
    """A value of a label or a category."""
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, int):
        return sql.integer(value)
    if isinstance(value, float):
        return exact(value)
    return exp.Literal.string(str(value))
