"""The label of a query as passes need it: a code for each row, and what the code means.

Working tables store only this code of the label, in the column y.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError, nearest
from sqlsvm.plan.catalog import rows_of
from sqlsvm.plan.parameters import BOUND, LABEL, WEIGHT_NEGATIVE, WEIGHT_POSITIVE
from sqlsvm.query import Feature, FeatureQuery

T = TypeVar("T")

CODE = "y"
"""The column of working tables with the code."""


@dataclass(frozen=True)
class Binary:
    """A label with two values. The code of a row is its sign: -1, +1 or NULL."""

    label: Feature
    code: exp.Expression
    """Over the columns of the label's relation."""
    class_weights: tuple[float, float] = (1.0, 1.0)
    """What a row of each class counts: negative, positive."""
    class_parameters: bool = False
    """The class weights are parameters of every statement: a stored program knows them only when it runs."""

    def sign(self, y: exp.Expression) -> exp.Expression:
        """The sign of a row with the code y: its residual is origin - sign * score."""
        return y

    def origin(self, y: exp.Expression) -> exp.Expression:
        return sql.parameter(BOUND)

    def is_negative(self, y: exp.Expression) -> exp.Expression:
        return exp.LT(this=self.sign(y), expression=sql.integer(0))

    def is_chosen(self, y: exp.Expression) -> exp.Expression:
        """Does a row belong to the one class that is counted?"""
        return sql.equal(y, sql.parameter(LABEL))

    @property
    def weighted(self) -> bool:
        return self.class_parameters or self.class_weights != (1.0, 1.0)

    def factor(self) -> exp.Expression:
        """How much a row counts because of its class, over the columns of the label's relation."""
        names = (WEIGHT_NEGATIVE, WEIGHT_POSITIVE)
        weights = map(sql.parameter, names) if self.class_parameters else map(sql.number, self.class_weights)
        negative, positive = weights
        return sql.case(sql.positive(exp.paren(self.sign(self.code))), positive, negative)


def binary(engine: Engine, query: FeatureQuery, positive: str | None = None) -> Binary:
    """The label as a target of two classes. This reads its values."""
    label = named(query.label)
    return Binary(label, _sign_of(engine, query, label, positive))


def named(label: T | None) -> T:
    if label is None:
        raise OptionError("no label was named", hint="say which output is the label: --label COLUMN")
    return label


def is_single(engine: Engine, query: FeatureQuery, label: Feature) -> bool:
    (column,) = engine.describe(rows_of(query, label.relation, [(label.typed.copy(), "v")]))
    return column.type == engine.abilities.single


def read_label_values(
    engine: Engine, query: FeatureQuery, target: Binary, *, shortest: bool = False
) -> tuple[Any, Any]:
    """The label's own values for -1 and +1, to be kept with a model; None for one that never occurs. `shortest` is the
    ability of the engine that the user knows."""
    columns = [(target.code.copy(), "s"), (target.label.typed.copy(), "v")]
    rows = sql.derived(rows_of(query, target.label.relation, columns), "r")

    def first(sign: int) -> Any:
        """From the first row with this sign: all others with it have the same value."""
        found = sql.select([(sql.column("v"), "v")], rows.copy()).where(sql.equal(sql.column("s"), sql.integer(sign)))
        return next(iter(engine.fetch(found.limit(1))["v"].tolist()), None)

    found = first(-1), first(1)
    if not (shortest and is_single(engine, query, target.label)):
        return found
    negative, positive = (None if value is None else float(str(np.float32(value))) for value in found)
    return negative, positive


def _sign_of(engine: Engine, query: FeatureQuery, label: Feature, positive: str | None) -> exp.Expression:
    """The label as +1, -1 or NULL."""
    if label.kind == "boolean" and positive is None:  # the data need not be read
        return sql.by_truth(label.expression, sql.integer(1), exp.Neg(this=sql.integer(1)))
    rows = rows_of(query, label.relation, [(label.expression.copy(), "v")])
    values = _label_values(engine, rows)
    if not values:  # there are no rows: a caller that needs some complains
        return exp.cast(exp.null(), exp.DType.INT)
    if len(values) > 2:
        raise _too_many(label, values, query.dialect, positive)
    if positive is not None:
        return _sign(label, _as_rounded(engine, rows, label, _chosen(label, values, positive)))
    if label.kind == "numeric" and any({float(v) for v in values} <= usual for usual in ({-1.0, 1.0}, {0.0, 1.0})):
        return _sign(label, _literal(label, "1"))
    shown = " and ".join(map(repr, values))
    raise DataError(
        f"the label {label.name} has the value{'s' if len(values) > 1 else ''} {shown}",
        hint=f"say which one is the positive class: {' or '.join(_likely(values))}",
    )


_TRUE = frozenset(("1", "t", "true", "y", "yes"))


def _likely(values: Sequence[str]) -> Iterator[str]:
    """The option with the only value that means yes, or with each value."""
    meant = [value for value in values if value.strip().casefold() in _TRUE]
    return (f"--positive {shlex.quote(value)}" for value in (meant if len(meant) == 1 else values))


def _label_values(engine: Engine, rows: exp.Query) -> list[str]:
    """At most five distinct values, as text. The engine says which are equal: 1 is 1.00."""
    seen = sql.distinct(sql.derived(rows.copy(), "r")).limit(5)
    return sorted(engine.fetch(sql.select([(sql.text(sql.column("v")), "v")], sql.derived(seen, "s")))["v"])


def _too_many(label: Feature, values: Sequence[str], dialect: str, positive: str | None) -> DataError:
    """These are the values in the label's relation. Where the join leaves two of them, WHERE has to say so."""
    first, second = (_literal(label, value) for value in sorted(values, key=lambda v: v != positive)[:2])
    few = exp.In(this=label.expression.copy(), expressions=[first.copy(), second]).sql(dialect)
    one = sql.equal(label.expression.copy(), first).sql(dialect)
    return DataError(
        f"the label {label.name} has more than two values in {label.relation}",
        detail=f"among them {_quoted(values[:4])}",
        hint=f"leave the others out: WHERE {few}, or make two classes of them: {one} AS {label.name}_is_one",
    )


def _quoted(values: Sequence[str]) -> str:
    """In quotes one sees the blanks of a value."""
    return ", ".join(map(repr, values))


def _chosen(label: Feature, values: Sequence[str], positive: str) -> str:
    """The value that --positive names, as the database spells it: 1 for 1.00, true for TRUE."""
    for value in values:
        if _same(label, value, positive):
            return value
    raise OptionError(
        f"the label {label.name} never has the value '{positive}'",
        detail=f"its values are {_quoted(values)}",
        hint=nearest(positive, values),
    )


def _same(label: Feature, value: str, positive: str) -> bool:
    """Numbers are compared as decimals: a double has too few digits for a bigint."""
    if label.kind == "boolean":
        return value.lower() == positive.lower()
    try:
        return value == positive or (label.kind == "numeric" and Decimal(value) == Decimal(positive))
    except InvalidOperation:
        return False


def _literal(label: Feature, value: str) -> exp.Expression:
    return exp.Literal.number(value) if label.kind == "numeric" else exp.Literal.string(value)


def _as_rounded(engine: Engine, rows: exp.Query, label: Feature, value: str) -> exp.Expression:
    """A value rounded to the label's type: no real is equal to 0.9, but one is equal to CAST('0.9' AS REAL)."""
    if label.kind == "numeric":
        (column,) = engine.describe(rows)
        if column.type in engine.abilities.inexact:
            return exp.cast(exp.Literal.string(value), column.type, dialect=engine.dialect)
    return _literal(label, value)


def _sign(label: Feature, positive: exp.Expression) -> exp.Expression:
    """CASE WHEN label = positive THEN 1 WHEN label IS NOT NULL THEN -1 END."""
    is_positive = sql.case(sql.equal(label.expression.copy(), positive), sql.integer(1))
    return is_positive.when(sql.not_null(label.expression), exp.Neg(this=sql.integer(1)))
