"""What a value of a categorical feature weighs in a model, where no database compares them: for rows in memory, and for
the categories that a feature has by now."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sqlsvm.errors import DataError
from sqlsvm.model.model import Weight
from sqlsvm.query import Spelling


def category_weights(weights: Sequence[Weight], spelling: Spelling) -> Callable[[Any], float]:
    """The weight of a value of one categorical feature: 0 for one that training has not seen.

    Blanks that fill a text up do not count, unless categories are told apart by them; 7, 7.0 and "7" are one number.
    """
    if isinstance(weights[0].category, str):
        return _weights_of_texts(weights, spelling)
    return _weights_of_numbers(weights)


def _weights_of_texts(weights: Sequence[Weight], spelling: Spelling) -> Callable[[Any], float]:
    def own(value: object) -> str:
        return str(value).lower() if spelling == "caseless" else str(value)

    def bare(text: str) -> str:
        return text.rstrip(" ") if spelling == "padded" else text

    known = {own(w.category): w.weight for w in weights}
    alike = {bare(text): known[text] for text in reversed(known)}

    def weight(value: Any) -> float:
        text = own(value)
        return known[text] if text in known else alike.get(bare(text), 0.0)

    return weight


def _weights_of_numbers(weights: Sequence[Weight]) -> Callable[[Any], float]:
    """Two integers are compared as such: beyond 2^53 doubles do not tell them apart. Any other two are doubles, and a
    real may come by the few digits that tell it from other reals."""
    feature = weights[0].feature
    known: dict[object, float] = {w.category: w.weight for w in weights}
    doubles = {as_double(feature, category): weight for category, weight in known.items()}
    doubles = {_real_digits(double): weight for double, weight in doubles.items()} | doubles
    whole = all(isinstance(category, int) for category in known)

    def weight(value: Any) -> float:
        number = _as_number(feature, value)
        if number in known or (whole and isinstance(number, int)):
            return known.get(number, 0.0)
        return doubles.get(as_double(feature, number), 0.0)

    return weight


def _real_digits(double: float) -> float:
    """The double of the digits in which a real is written that is this double; any other as it is, and so a whole one,
    whose digits would be those of another."""
    with np.errstate(over="ignore"):
        real = np.float32(double)
    return float(str(real)) if float(real) == double and not double.is_integer() else double


def _as_number(feature: str, value: Any) -> int | float:
    if isinstance(value, float):
        return value
    try:
        return int(str(value))
    except ValueError:
        return as_double(feature, value)


def as_double(feature: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"feature {feature} is a number, not {value!r}") from error
