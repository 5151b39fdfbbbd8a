"""The score of rows in memory, equal to that of `score.score` to the last bit: tests/db/test_scorers.py compares them.

DuckDB could evaluate that expression, but CASE compares a value with one category after the other. With 10,000
categories one row takes 4 s there and 10 ms with a dictionary; 100,000 rows of 20 numbers take 28 ms and 18 ms.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from sqlsvm.engine.base import Spelling, Values
from sqlsvm.errors import DataError, OptionError
from sqlsvm.kernel.rows import Joined
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import Model, Term, checked_term, code_of
from sqlsvm.model.weights import Weight
from sqlsvm.query.names import column_of
from sqlsvm.times import TIMES, TimeKind

NO_TIMES: Mapping[str, TimeKind] = {}


class Frame(Protocol):
    """Columns by name: a mapping, a data frame, a structured array."""

    def __getitem__(self, name: str, /) -> Any: ...


class Lazy(Protocol):
    """A lazy frame of polars."""

    @property
    def collect(self) -> object: ...


class Streamed(Protocol):
    """What Arrow reads."""

    @property
    def __arrow_c_stream__(self) -> object: ...


Input: TypeAlias = Frame | Lazy | Streamed | Sequence[Sequence[object]] | Values
"""For a model of X and y also a list of rows, or an array."""


class HasArray(Protocol):
    """A series of pandas or polars, a column of pyarrow."""

    def __array__(self) -> Values: ...


Column: TypeAlias = Sequence[object] | Values | HasArray  # a y


def scores(model: Model, frame: Frame) -> Values:
    """One for each row; nan for a row with a NULL that the model does not replace, and for a row of no group of a model
    with groups."""
    if model.groups:
        return _by_group(model, frame, scores)
    names, inputs = _names(frame), {term.feature: term for term in model.inputs}
    first = _column(frame, next(iter(names.values()))) if names else np.zeros(0)
    if not first.shape:
        one = next(iter(names))
        raise OptionError(f"the rows have one {one}, not a column of them", hint="for one row write [value]")
    before, after = model.added
    total = np.full(len(first), before)
    columns = {feature: _column(frame, column_of(feature, names)) for feature in inputs}
    for feature, found in columns.items():
        if found.shape != total.shape:
            raise OptionError(f"the columns differ in length: {feature} has the shape {found.shape}")
    for each in model.maps:
        columns |= mapped_columns(each, columns, model.trained_on.times)
    for term in model.terms:
        total = total + _term(term, columns[term.feature], model.nulls)
    total = total + after if after else total
    if model.support:
        return total + model.support.scores(_joined(model, columns))
    return total


def chances(model: Model, frame: Frame) -> Values:
    """The probability of the positive class for each row; nan also for a row of a group that has none."""
    if model.groups:
        return _by_group(model, frame, chances)
    found = scores(model, frame)
    return model.probability(found) if model.probability else np.full(len(found), np.nan)


def _by_group(model: Model, frame: Frame, of: Callable[[Model, Frame], Values]) -> Values:
    names, place = _names(frame), category_weights(model.chooser)
    columns = {term.feature: _column(frame, column_of(term.feature, names)) for term in model.inputs}
    chosen = columns.pop(model.chooser.feature)
    places = np.array([0.0 if _is_missing(value) else place(value) for value in chosen.tolist()])
    found = np.full(len(places), np.nan)
    for n in np.unique(places[places > 0.0]).astype(int).tolist():
        here = places == n
        rows = {name: column[here] for name, column in columns.items()} | {model.chooser.feature: chosen[here]}
        found[here] = of(model.part(n - 1), rows)
    return found


def _joined(model: Model, columns: Mapping[str, Values]) -> Joined:
    """The rows as those of the support vectors. A row that lacks a value has the score nan by its other terms."""
    assert model.support is not None
    terms = {term.feature: term for term in model.terms}

    def values(feature: str) -> Values:
        term = checked_term(terms, feature)
        coded = term.coded if term.number is None else replace(term, weights=(replace(term.number, weight=1.0),))
        found = np.nan_to_num(_term(coded, columns[feature], model.nulls))
        return found if term.number is None else model.scaling[feature].of(found)

    return model.support.joined(values)


def mapped_columns(each: Mapped, frame: Frame, times: Mapping[str, TimeKind] = NO_TIMES) -> dict[str, Values]:
    """The new columns; nan where a column that the map reads is missing."""
    own = [_column(frame, name) for name in each.columns]
    if each.kind == "numeric":
        given = [
            _term(code_of(each, name), values, "")
            if name in each.codes
            else numbers(name, values, times.get(name, "numeric"))
            for name, values in zip(each.columns, own, strict=True)
        ]
        missing = np.isnan(given).any(axis=0) & (not each.takes_nulls)
        return {name: np.where(missing, np.nan, values) for name, values in each.values(given).items()}
    missing = np.array([_is_missing(value) for value in own[0].tolist()], dtype=bool)
    texts = np.array(["" if gone else _as_text(value) for gone, value in zip(missing, own[0].tolist(), strict=True)])
    return {name: np.where(missing, np.nan, values) for name, values in each.values([texts]).items()}


def _as_text(value: object) -> str:
    """As a database writes it; 7.0 is what a data frame with missing values has for 7."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _names(frame: Frame) -> dict[str, str]:
    columns = frame.dtype.names if isinstance(frame, np.ndarray) else getattr(frame, "columns", None)
    if columns is None and isinstance(frame, Mapping):
        columns = frame
    if columns is None:
        raise OptionError("the rows have no column names", hint="a mapping, a data frame or a structured array has")
    return {str(name): name for name in columns}


def _column(frame: Frame, name: str) -> Values:
    values = frame[name]
    cells = np.array(values)
    if np.ma.isMaskedArray(values):
        cells = cells.astype(object)
        cells[np.ma.getmaskarray(values)] = None
    return cells


# -- terms -------------------------------------------------------------------------------------------------------------


def _term(term: Term, values: Values, nulls: str) -> Values:
    if term.number is None:
        weight = category_weights(term)
        missing = np.nan if nulls == "drop" else 0.0
        return np.array([missing if _is_missing(v) else weight(v) for v in values.tolist()], dtype=float)
    found = numbers(term.feature, values, term.kind)
    missing = np.nan if term.number.missing is None else term.number.missing
    return term.number.weight * (np.where(np.isnan(found), missing, found) - term.origin)


def numbers(feature: str, values: Values, kind: str = "numeric") -> Values:
    if kind in TIMES:
        return np.array([np.nan if _is_missing(v) else _as_time(feature, v, kind) for v in values], dtype=float)
    if values.dtype.kind in "biuf":
        return values.astype(float)
    found = [np.nan if _is_missing(v) else _as_double(feature, v) for v in values.tolist()]
    return np.array(found, dtype=float)


def _as_time(feature: str, value: Any, kind: str) -> float:
    try:
        return TIMES[kind].read(value)
    except ValueError as error:
        raise DataError(f"feature {feature} is a {kind}, not {value!r}") from error


def _is_missing(value: Any) -> bool:
    """Is it None, nan, or a missing value of pandas, whose comparison with itself is not even a boolean?"""
    same = value == value
    return value is None or not isinstance(same, bool | np.bool_) or not same


# -- categories --------------------------------------------------------------------------------------------------------


def category_weights(term: Term, spelling: Spelling | None = None) -> Callable[[Any], float]:
    """The weight of a value of one categorical feature; that of all others, or 0, for a value that has none. Texts are
    compared as the model says, or as they are now.

    Blanks at the end of a padded text are ignored, unless categories differ in them. 7, 7.0 and "7" are one number.
    """
    others = term.others or 0.0
    if isinstance(term.weights[0].category, str):
        return _weights_of_texts(term.categories, spelling or term.spelling, others)
    return _weights_of_numbers(term.categories, others)


def _weights_of_texts(weights: Sequence[Weight], spelling: Spelling, others: float) -> Callable[[Any], float]:
    def own(value: object) -> str:
        return str(value).lower() if spelling == "caseless" else str(value)

    def bare(text: str) -> str:
        return text.rstrip(" ") if spelling == "padded" else text

    known = {own(w.category): w.weight for w in weights}
    alike = {bare(text): known[text] for text in reversed(known)}

    def weight(value: Any) -> float:
        text = own(value)
        return known[text] if text in known else alike.get(bare(text), others)

    return weight


def _weights_of_numbers(weights: Sequence[Weight], others: float) -> Callable[[Any], float]:
    """Integers are compared as integers, because beyond 2^53 doubles are not exact. Other numbers are compared as
    doubles, and a real may also be given by the few digits in which it is written."""
    feature = weights[0].feature
    known: dict[object, float] = {w.category: w.weight for w in weights}
    doubles = {_as_double(feature, category): weight for category, weight in known.items()}
    doubles = {_real_digits(double): weight for double, weight in doubles.items()} | doubles
    whole = all(isinstance(category, int) for category in known)

    def weight(value: Any) -> float:
        number = _as_number(feature, value)
        if number in known or (whole and isinstance(number, int)):
            return known.get(number, others)
        return doubles.get(_as_double(feature, number), others)

    return weight


def _real_digits(double: float) -> float:
    """If a double is a real, the double of the digits in which that real is written; else the double itself. A
    whole one stays itself, because these digits may be those of another whole number."""
    with np.errstate(over="ignore"):
        real = np.float32(double)
    return float(str(real)) if float(real) == double and not double.is_integer() else double


def _as_number(feature: str, value: Any) -> int | float:
    if isinstance(value, float):
        return value
    try:
        return int(str(value))
    except ValueError:
        return _as_double(feature, value)


def _as_double(feature: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"feature {feature} is a number, not {value!r}") from error
