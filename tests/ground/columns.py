"""Columns: what their cells are drawn from, and which features and filters a user makes of them."""

from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from sqlsvm.engine.base import Kind
from tests.ground.choose import Chooser, chance, pick
from tests.ground.names import EVIL_TEXTS, PLAIN_TEXTS
from tests.ground.surface import literal
from tests.ground.world import Value

NUMERIC = "decimal(10, 2)"
INTEGERS = (1, 0, 2, -1, 3, 7, 4, 5)
KEYS: dict[str, tuple[Value, ...]] = {
    "int": INTEGERS,
    "bigint": (1, 0, 2**40, -1, 2, -(2**62), 3, 4),
    "double": (1.0, 0.0, 0.5, -2.0, 0.1, 1e30, 4.0, 5.0),
}
GRIDS: dict[str, tuple[Value, ...]] = {
    "int": (0, 1, -1, 2, -2, 3),
    "double": (0.0, 1.0, -1.0, 0.5, -0.5, 2.0),
    NUMERIC: (Decimal("0.00"), Decimal("1.00"), Decimal("-1.50"), Decimal("0.25"), Decimal("2.00")),
    "boolean": (False, True),
    "bigint": (0, 1, -1, 4),
}
REAL = float("nan")
"""Stands for any real number, to be drawn for each cell."""
LABELS: dict[str, tuple[Value, ...]] = {"boolean": (False, True), "int": (-1, 1), "bigint": (0, 1)}


@dataclass(frozen=True)
class Domain:
    """What a column's cells are drawn from, the simple first."""

    type: str
    values: tuple[Value, ...]
    alternates: bool = False
    """Row i takes the value i places further on, so that both labels occur."""

    def with_null(self) -> "Domain":
        """NULL in a sixth of the cells or less."""
        repeated = self.values * (1 + 5 // len(self.values))
        return Domain(self.type, (*repeated, None), self.alternates)


def key_domain(chooser: Chooser, evil: bool, unique: bool) -> Domain:
    """A join variable's values: few and one of them frequent, so that partners are likely, or many to be unique."""
    kind = pick(chooser, ("int", "int", "int", "int", "text", "text", "text", "bigint", "bigint", "double"))
    pool = KEYS.get(kind) or (EVIL_TEXTS[:8] if evil and chance(chooser, 50) else PLAIN_TEXTS)
    values = pool[: chooser.integer(2, 8) if unique else chooser.integer(1, 4)]
    skewed = not unique and chance(chooser, 40)
    return Domain(kind, values[:1] * len(values) + values if skewed else values)


def feature_domain(chooser: Chooser, evil: bool, continuous: bool) -> Domain:
    kind = pick(chooser, ("int", "double", "double", NUMERIC, "boolean", "text", "text", "bigint"))
    if kind == "text":
        start = chooser.integer(0, len(EVIL_TEXTS) - 3) if evil and chance(chooser, 50) else None
        return Domain(kind, PLAIN_TEXTS[:3] if start is None else EVIL_TEXTS[start : start + 3])
    if continuous and kind != "boolean":
        return Domain("double", (REAL,))
    return Domain(kind, GRIDS[kind])


def label_domain(chooser: Chooser) -> Domain:
    kind = pick(chooser, ("boolean", "int", "bigint"))
    return Domain(kind, LABELS[kind], alternates=True)


def key_expression(chooser: Chooser, column: exp.Column, kind: str) -> exp.Expression:
    """An expression that keeps distinct keys distinct, except for their case."""
    if kind == "double":
        return column
    if kind == "text":
        return exp.Lower(this=column)
    return exp.Add(this=column, expression=literal(chooser.integer(0, 1)))


def plain_feature(column: exp.Column, kind: str) -> tuple[exp.Expression, Kind]:
    kinds: dict[str, Kind] = {"text": "categorical", "boolean": "boolean"}
    return column, kinds.get(kind, "numeric")


def derived_feature(chooser: Chooser, column: exp.Column, kind: str) -> tuple[exp.Expression, Kind]:
    """An expression over the column, and what kind of feature that is."""
    if kind == "boolean":
        return exp.Not(this=column), "boolean"
    if kind != "text":
        return _numeric_feature(chooser, column)
    if chance(chooser, 50):
        return exp.Lower(this=column), "categorical"
    return exp.EQ(this=column, expression=literal("a")), "boolean"


def condition_on(chooser: Chooser, column: exp.Column, domain: Domain) -> exp.Expression:
    """A filter that lets most rows pass."""
    if REAL in domain.values or chance(chooser, 35):
        return exp.Not(this=exp.Is(this=column, expression=exp.Null()))
    if domain.type == "boolean":
        return exp.Not(this=column) if chance(chooser, 30) else column
    value = literal(pick(chooser, [v for v in domain.values if v is not None]))
    if domain.type == "text":
        return exp.NEQ(this=column, expression=value)
    if chance(chooser, 50):
        return exp.NEQ(this=column, expression=value)
    return exp.GTE(this=column, expression=value)


def late_condition_on(chooser: Chooser, column: exp.Column, domain: Domain) -> exp.Expression:
    """A filter over the optional side of a LEFT JOIN that NULLs may well pass."""
    missing = exp.Is(this=column, expression=exp.Null())
    if chance(chooser, 40):
        return missing
    return exp.Or(this=missing, expression=condition_on(chooser, column.copy(), domain))


def _numeric_feature(chooser: Chooser, column: exp.Column) -> tuple[exp.Expression, Kind]:
    positive = exp.GT(this=column, expression=literal(0))
    case = exp.Case(ifs=[exp.If(this=positive, true=literal(1))], default=literal(0))
    ladder: tuple[tuple[exp.Expression, Kind], ...] = (
        (exp.Add(this=column, expression=literal(1)), "numeric"),
        (exp.Mul(this=column, expression=literal(0.5)), "numeric"),
        (positive, "boolean"),
        (case, "numeric"),
        (exp.Coalesce(this=column, expressions=[literal(0)]), "numeric"),
        (exp.Abs(this=column), "numeric"),
    )
    return pick(chooser, ladder)
