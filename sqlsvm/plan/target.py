"""The label of a query as passes need it: a code for each row, and what the code means.

Working tables store only this code of the label, in the column y. A row of the join has the residual
z = origin - sign * score. If the label has two classes, the code is the sign. If it has more, the code is the number of
the class, and a parameter says which class is +1: so all of them share the tables. If it is a number, there are no
signs, and the code is the origin.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from math import frexp
from operator import itemgetter
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError, nearest
from sqlsvm.options import NUMBER_LOSSES
from sqlsvm.plan.parameters import BOUND, CLASS, LABEL, WEIGHT_NEGATIVE, WEIGHT_POSITIVE
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.rows import rows_of
from sqlsvm.solve.arrays import Array
from sqlsvm.sql import Named

T = TypeVar("T")

Seen = Mapping[str, Any]  # some values of a label as text, in order, and as they are
CODE = "y"  # the column of working tables with the code


@dataclass(frozen=True)
class Target:
    label: Feature
    code: exp.Expression  # over the columns of the label's relation
    class_weights: tuple[float, ...] = (1.0, 1.0)  # of a row of each class: negative, positive; or of each code
    signed: ClassVar[bool] = False  # do rows have signs, so that there are two classes, or one against the others?
    classes: ClassVar[int] = 0  # how many classes there are, if each of them is +1 in a training of its own
    chosen = 0  # the code of the class that is +1, if there are more than two
    weighted = False  # do rows of one class count more?
    centre = 0.0  # what is subtracted from a label that is a number

    def origin(self, y: exp.Expression) -> exp.Expression:
        """The residual of a row with the code y and the score 0."""
        return sql.parameter(BOUND) if self.signed else y

    def as_rows(self, codes: Array, bound: float) -> tuple[Array, Array]:
        """The signs and the origins of rows with these codes; `bound` is the origin that classes have."""
        return (codes, np.full(len(codes), bound)) if self.signed else (np.ones(len(codes)), codes)

    def sign(self, y: exp.Expression) -> exp.Expression:
        """The sign of a row with the code y."""
        return sql.integer(1)

    def is_negative(self, y: exp.Expression) -> exp.Expression:
        return sql.less(self.sign(y), 0)

    def is_chosen(self, y: exp.Expression) -> exp.Expression:
        """Does a row belong to the one class that is counted?"""
        return sql.equal(y, sql.parameter(LABEL))

    def factor(self) -> exp.Expression:
        """How much a row counts because of its class, over the columns of the label's relation."""
        return sql.number(1)

    @property
    def against_others(self) -> "tuple[Target, ...]":
        """For each of more than two classes the target where it alone is +1; else the target itself."""
        return (self,)

    def must_be_one(self, what: str, hint: str) -> None:
        """Refuse what is for two classes, if there are more."""
        if self.classes:
            raise OptionError(f"the label {self.label.name} has {self.classes} classes, and {what}", hint=hint)

    @property
    def parameters(self) -> Mapping[str, object]:
        """What statements need to know of it when they run."""
        return {}

    def by_class(self, n: float, n_negative: float, of_codes: Sequence[float] = ()) -> "ByClass":
        """The rows of each class, -1 and 1, without class weights, from those with them."""
        return {}


ByClass = dict[Literal["-1", "1"], float]


@dataclass(frozen=True)
class Binary(Target):
    """A label with two values. The code of a row is its sign: -1, +1 or NULL."""

    class_parameters: bool = False  # class weights are parameters: a stored program knows them only when it runs
    values: tuple[Any, Any] | None = None  # the label's own values for -1 and +1, if they were read to make it
    signed = True

    def sign(self, y: exp.Expression) -> exp.Expression:
        return y

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        return self.class_parameters or self.class_weights != (1.0, 1.0)

    def factor(self) -> exp.Expression:
        names = (WEIGHT_NEGATIVE, WEIGHT_POSITIVE)
        weights = map(sql.parameter, names) if self.class_parameters else map(sql.number, self.class_weights)
        negative, positive = weights
        return sql.case(sql.positive(exp.paren(self.sign(self.code))), positive, negative)

    def by_class(self, n: float, n_negative: float, of_codes: Sequence[float] = ()) -> ByClass:
        negative, positive = self.class_weights
        return {"-1": n_negative / negative, "1": (n - n_negative) / positive}


@dataclass(frozen=True)
class Classes(Target):
    """A label with more than two values. The code of a row is the number of its class, from 1."""

    names: tuple[str, ...] = ()  # the values in the order of their codes, as text
    chosen: int = 1  # the code of the class that is +1
    lacking: bool = False  # may rows have none of these values, and a class no rows?
    signed = True

    @property
    def classes(self) -> int:  # type: ignore[override]
        return len(self.names)

    @property
    def against_others(self) -> tuple[Target, ...]:
        return tuple(replace(self, chosen=code) for code in range(1, self.classes + 1))

    def sign(self, y: exp.Expression) -> exp.Expression:
        is_chosen = sql.equal(y, sql.parameter(CLASS))
        return sql.case(is_chosen, 1, -1)

    def as_rows(self, codes: Array, bound: float) -> tuple[Array, Array]:
        return super().as_rows(np.where(codes == self.chosen, 1.0, -1.0), bound)

    @property
    def parameters(self) -> Mapping[str, object]:
        return {CLASS: float(self.chosen)}

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        return any(weight != 1.0 for weight in self.class_weights)

    def factor(self) -> exp.Expression:
        return sql.match(exp.paren(self.code.copy()), enumerate(map(sql.number, self.class_weights), 1))

    def by_class(self, n: float, n_negative: float, of_codes: Sequence[float] = ()) -> ByClass:
        weights = self.class_weights if self.weighted else (1.0,) * self.classes
        rows = [n / weight for n, weight in zip(of_codes, weights, strict=True)]
        positive = rows[self.chosen - 1]
        return {"-1": sum(rows) - positive, "1": positive}


@dataclass(frozen=True)
class Numeric(Target):
    """A label that is a number. The code of a row is the label less a centre, so that sums keep their digits."""

    centre: float = 0.0


def target_of(engine: Engine, query: FeatureQuery, loss: str, *, positive: str | None, centred: bool) -> Target:
    """The label as the loss needs it. This reads its values."""
    label = named(query.label)
    if loss not in NUMBER_LOSSES:
        return _of_values(engine, query, label, positive, _seen(engine, query, label, positive))
    if label.kind != "numeric":
        hint = "use a loss for two classes, such as ⟦loss hinge⟧, or CAST the label to a number in the query"
        raise OptionError(f"the loss {loss} needs a label that is a number, and {label.name} is not", hint=hint)
    if positive is not None:
        said = f"the loss {loss} needs a number, and ⟦positive⟧ makes two classes of the label"
        raise OptionError(said, hint="leave one of them out")
    return numeric(engine, query, label, centred=centred)


DIGITS = 20  # so many bits of a mean are kept: more may depend on the order of the rows in the sum


def numeric(engine: Engine, query: FeatureQuery, label: Feature, *, centred: bool = True) -> Numeric:
    """Measured from its mean in its own relation, if scores have a constant that can take that up."""
    if not centred:
        return centred_at(label, 0.0)
    rows = rows_of(query, label.relation, [(sql.double(label.expression.copy()), "v")])
    found = engine.fetch(sql.select(_ends(), sql.derived(rows, "r")))
    return centred_at(
        label, _rounded_mean(*(float(found[name].astype(float)[0]) for name in ("mean", "least", "most")))
    )


def centred_at(label: Feature, centre: float) -> Numeric:
    value = sql.double(label.expression.copy())
    return Numeric(label, exp.paren(sql.minus(value, sql.number(centre))) if centre else value, centre=centre)


def centres(engine: Engine, query: FeatureQuery, label: Feature, by: exp.Expression) -> dict[object, float]:
    """Its centre for each value of another column of its relation."""
    rows = rows_of(query, label.relation, [(sql.double(label.expression.copy()), "v"), (by.copy(), "g")])
    found = engine.fetch(sql.grouped(sql.columns(["g"]), _ends(), sql.derived(rows, "r")))
    each = zip(*(found[name].tolist() for name in ("g", "mean", "least", "most")), strict=True)
    return {value: _rounded_mean(*map(float, numbers)) for value, *numbers in each if None not in numbers}


def _ends() -> Named:
    v = sql.column("v")
    return [(exp.Avg(this=v), "mean"), (sql.smallest(v.copy()), "least"), (sql.largest(v.copy()), "most")]


def _rounded_mean(mean: float, least: float, most: float) -> float:
    """Rounded to a small share of the deviation."""
    size = max(abs(least), abs(most))
    if not (size > 0.0 and np.isfinite(mean)):  # there are no rows, or they are refused later
        return 0.0
    grain = 2.0 ** (frexp((most - least) or size)[1] - DIGITS)
    return float(round(mean / grain) * grain)


def _of_values(engine: Engine, query: FeatureQuery, label: Feature, positive: str | None, seen: Seen) -> Target:
    """The label as a target of classes: of two, or of more."""
    if found := _classes(label, [*seen], positive):
        return found
    code, chosen = _sign_of(engine, query, label, positive, [*seen])
    return Binary(label, code, values=_two_numbers(label, chosen, seen))


MOST, SHOWN = 100, 4  # classes that are trained; values that a message names


def _classes(label: Feature, values: list[str], positive: str | None) -> Classes | None:
    """The label as a target of more than two classes; None if it has fewer. Numbers are names of classes if they are
    whole."""
    if positive is not None or len(values) <= 2:
        return None
    if label.kind == "numeric":
        if not may_be_classes(values):
            said = f"the label {label.name} has more than two values in {label.relation}"
            hint = (
                "to predict a number, use a loss for numbers, such as ⟦loss squared⟧; to predict a class, make two of "
            )
            hint += f"them: {label.name} > 0 AS {label.name}_is_positive"
            raise DataError(said, detail=f"among them {_quoted(values[:SHOWN])}", hint=hint)
        values = sorted(values, key=float)
    if len(values) > MOST:
        said = f"the label {label.name} has more than {MOST} values in {label.relation}"
        hint = "put rare values together in the query: CASE WHEN ... THEN ... ELSE 'other' END"
        raise DataError(said, detail=f"among them {_quoted(values[:SHOWN])}", hint=hint)
    return _classes_of(label, values)


def _classes_of(label: Feature, values: Sequence[str], *, lacking: bool = False) -> Classes:
    code = sql.match(label.expression.copy(), ((_literal(label, v), k) for k, v in enumerate(values, 1)))
    return Classes(label, code, names=tuple(values), lacking=lacking)


def if_classes(
    engine: Engine, query: FeatureQuery, positive: str | None = None, *, classes: bool = False
) -> Target | None:
    """The label as a target of classes, or None for a number with more than two values, unless it is known that it has
    classes."""
    label = named(query.label)
    values = _seen(engine, query, label, positive)
    if label.kind == "numeric" and positive is None and len(values) > 2 and not classes:
        return None
    return _of_values(engine, query, label, positive, values)


def numbers_in(engine: Engine, query: FeatureQuery) -> list[str]:
    """Up to MOST + 1 values of a label that is a number with more than two; else none."""
    label = named(query.label)
    values = [*_seen(engine, query, label, None)] if label.kind == "numeric" else []
    return values if len(values) > 2 else []


def may_be_classes(values: Sequence[str]) -> bool:
    """Can such numbers be names of classes?"""
    return len(values) <= MOST and all(float(value).is_integer() for value in values)


def without_classes(engine: Engine, query: FeatureQuery, lost: Collection[str], positive: str | None = None) -> Target:
    """The label as a target without some of its values."""
    label = named(query.label)
    seen = {name: value for name, value in _seen(engine, query, label, positive).items() if name not in lost}
    found = _of_values(engine, query, label, positive, seen)
    return replace(found, lacking=True) if isinstance(found, Classes) else found


def classes_known(engine: Engine, query: FeatureQuery, values: Sequence[object]) -> Classes:
    """The label as a target of these classes, and after them of those that it has besides."""
    label = named(query.label)
    seen = {spelled(name): name for name in _seen(engine, query, label, None)}
    known = [spelled(str(value)) for value in values]
    names = [*(seen.get(each, str(value)) for each, value in zip(known, values, strict=True))]
    return _classes_of(label, [*names, *(name for each, name in seen.items() if each not in known)], lacking=True)


def two_known(engine: Engine, query: FeatureQuery, values: Sequence[object]) -> Binary | None:
    """The label as a target of the two of its values that a model knows; None if it has no others."""
    label = named(query.label)
    seen = {spelled(name): name for name in _seen(engine, query, label, None)}
    known = [seen.get(spelled(str(value))) for value in values]
    if len(seen) <= 2 or None in known:
        return None
    signs = ((_literal(label, str(value)), sign) for value, sign in zip(known, (-1, 1), strict=True))
    return Binary(label, sql.match(label.expression.copy(), signs), values=(values[0], values[1]))


def spelled(name: str) -> str:
    """A number as text may be 1.0 for 1, and a text may lack the blanks that its type has at the end."""
    try:
        return str(int(float(name))) if float(name).is_integer() else name
    except ValueError:
        return name.rstrip(" ")


def named(label: T | None) -> T:
    if label is None:
        raise OptionError("no label was named", hint="say which output is the label: ⟦label COLUMN⟧")
    return label


def is_single(engine: Engine, query: FeatureQuery, label: Feature) -> bool:
    column = query.relation(label.relation).column(label.value)
    if column is None:
        (column,) = engine.describe(rows_of(query, label.relation, [(label.value.copy(), "v")]))
    return column.type == engine.abilities.single


def read_label_values(
    engine: Engine, query: FeatureQuery, target: Target, *, shortest: bool = False
) -> tuple[Any, ...]:
    """The label's own values for -1 and +1, or for each code, to be kept with a model; None for one that never occurs,
    and for both where the label is a number. `shortest` is the ability of the engine that the user knows."""
    if not target.signed:
        return None, None
    found = target.values if isinstance(target, Binary) else None
    if found is None:
        columns = [(target.code.copy(), "s"), (target.label.value.copy(), "v")]
        rows = sql.derived(rows_of(query, target.label.relation, columns), "r")
        if (
            target.classes
        ):  # values that are equal for the engine have one code: the least of their texts stands for them
            s, v = sql.column("s"), sql.column("v")
            each = sql.grouped(sql.columns(["s"]), [(sql.smallest(v), "v")], rows).where(sql.not_null(s))
            values = engine.fetch(each.order_by(s.copy()))["v"].tolist()
            return tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in values)
        found = _two_values(engine, rows)
    if not (shortest and is_single(engine, query, target.label)):
        return found
    negative, positive = (None if value is None else float(str(np.float32(value))) for value in found)
    return negative, positive


def _two_values(engine: Engine, rows: exp.Expr) -> tuple[Any, Any]:
    def first(sign: int) -> exp.Query:
        """The first row with this sign: all others with it have the same value."""
        found = sql.select(sql.columns(["s", "v"]), rows.copy())
        row = sql.where(found, sql.equal("s", sign)).limit(1, copy=False)
        return exp.select("*").from_(sql.derived(row, "r"), copy=False)

    known = engine.fetch(sql.union_all(first(-1), first(1)))
    values = dict(zip(known["s"].tolist(), known["v"].tolist(), strict=True))
    negative, positive = values.get(-1), values.get(1)
    if negative is None and isinstance(positive, bool):
        negative = not positive  # of the pairs of a ranking all are true
    return negative, positive


def _sign_of(
    engine: Engine, query: FeatureQuery, label: Feature, positive: str | None, values: list[str]
) -> tuple[exp.Expression, str]:
    """The label as +1, -1 or NULL; and its value for +1, as the database spells it."""
    if label.kind == "boolean" and positive is None:
        return sql.by_truth(label.expression, 1, -1), ""
    if not values:  # there are no rows: a caller that needs some complains
        return exp.cast(exp.null(), exp.DType.INT), ""
    if len(values) > 2:
        raise _too_many(label, values, query.dialect, positive)
    if label.kind == "numeric" and positive is None and any({float(v) for v in values} <= usual for usual in USUAL):
        return _sign(label, _literal(label, "1")), "1"
    if len(values) == 1 and positive is None:
        said = f"the label {label.name} has the value {values[0]!r}"
        raise DataError(said, hint=f"say whether it is the positive class: ⟦positive {values[0]}⟧")
    chosen = _likely(label, values) if positive is None else _chosen(label, values, positive)
    return _sign(label, _as_rounded(engine, _rows(query, label), label, chosen)), chosen


USUAL = {-1.0, 1.0}, {0.0, 1.0}
_TRUE = frozenset(("1", "t", "true", "y", "yes"))


def _likely(label: Feature, values: Sequence[str]) -> str:
    """The only value that means yes, or the last one in order."""
    meant = [value for value in values if value.strip().casefold() in _TRUE]
    ordered = sorted(values, key=float) if label.kind == "numeric" else values
    return meant[0] if len(meant) == 1 and label.kind != "numeric" else ordered[-1]


def _rows(query: FeatureQuery, label: Feature) -> exp.Query:
    return rows_of(query, label.relation, [(label.expression.copy(), "v")])


def _seen(engine: Engine, query: FeatureQuery, label: Feature, positive: str | None) -> Seen:
    """As many of its distinct values as decide what it is. The engine says which are equal: 1 is 1.00. Those of a
    boolean need not be read."""
    if label.kind == "boolean" and positive is None:
        return {}
    most, v = SHOWN if positive is not None else MOST, sql.column("v")
    seen = sql.distinct(sql.derived(_rows(query, label), "r")).limit(most + 1)
    found = engine.fetch(sql.select([(sql.text(v), "text"), (v.copy(), "v")], sql.derived(seen, "s")))
    return dict(sorted(zip(found["text"].tolist(), found["v"].tolist(), strict=True), key=itemgetter(0)))


def _two_numbers(label: Feature, positive: str, seen: Seen) -> tuple[Any, Any] | None:
    """The negative and the positive one; None for one that never occurs. Text that is equal for the engine may be
    spelled in several ways."""
    if label.kind != "numeric":
        return None
    found = {_same(label, text, positive): value for text, value in seen.items()}
    return found.get(False), found.get(True)


def _too_many(label: Feature, values: Sequence[str], dialect: str, positive: str | None) -> DataError:
    """These are the values in the label's relation. Where the join leaves two of them, WHERE has to say so."""
    first, second = (_literal(label, value) for value in sorted(values, key=lambda v: v != positive)[:2])
    few = exp.In(this=label.expression.copy(), expressions=[first.copy(), second]).sql(dialect)
    one = sql.equal(label.expression.copy(), first).sql(dialect)
    said = f"the label {label.name} has more than two values in {label.relation}"
    hint = f"leave the others out: WHERE {few}, or make two classes of them: {one} AS {label.name}_is_one"
    return DataError(said, detail=f"among them {_quoted(values[:SHOWN])}", hint=hint)


def _quoted(values: Sequence[str]) -> str:
    """In quotes one sees the blanks of a value."""
    return ", ".join(map(repr, values))


def _chosen(label: Feature, values: Sequence[str], positive: str) -> str:
    """The value that --positive names, as the database spells it: 1 for 1.00, true for TRUE."""
    for value in values:
        if _same(label, value, positive):
            return value
    said = f"the label {label.name} never has the value '{positive}'"
    raise OptionError(said, detail=f"its values are {_quoted(values)}", hint=nearest(positive, values))


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
    is_positive = sql.case(sql.equal(label.expression.copy(), positive), 1)
    return is_positive.when(sql.not_null(label.expression), sql.integer(-1))
