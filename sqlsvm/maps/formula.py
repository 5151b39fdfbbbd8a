"""Formulas over the arguments $1, $2, ...: the functions that maps are made of.

    CASE WHEN $1 < 2.5e0 THEN 1.0e0 ELSE 0.0e0 END

A stored model has them as texts. They are sent to the database, so `read` allows arithmetic and nothing else: there is
no name, no text and no query in a formula. In memory the same formula is computed by numpy.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlsvm import sql
from sqlsvm.reading import Misread

DIALECT = "postgres"  # of the texts
LARGEST_EXPONENT = 700.0  # PostgreSQL refuses EXP of a number whose result is too small or too large for a double
Values = NDArray[Any]


def argument(place: int) -> exp.Expression:
    """$1, $2, ..."""
    return exp.Parameter(this=sql.integer(place))


def number(value: float) -> exp.Expression:
    """Every engine reads a number with an exponent as a double, or makes a double of it without a loss."""
    text = repr(abs(float(value)))
    found: exp.Expression = exp.Literal.number(text if "e" in text else f"{text}e0")
    return exp.paren(sql.negated(found), copy=False) if float(value) < 0 else found


def affine(weights: Sequence[float], constant: float = 0.0, means: Sequence[float] = ()) -> exp.Expression:
    """constant + the sum of weight * argument, or of weight * (argument - mean)."""
    given = [centred(place, mean) for place, mean in enumerate(means, 1)] or None
    terms = (
        sql.product(number(w), given[place] if given else argument(place + 1)) for place, w in enumerate(weights) if w
    )
    return sql.plus(number(constant), *terms)


def centred(place: int, mean: float) -> exp.Expression:
    """argument - mean. The mean is taken away first, so that large numbers with small differences keep their digits."""
    return sql.minus(argument(place), number(mean))


def exponential(power: exp.Expression) -> exp.Expression:
    """EXP of a power of at most 0."""
    return exp.Exp(this=sql.greatest(power, number(-LARGEST_EXPONENT)))


def text_of(formula: exp.Expression) -> str:
    return formula.sql(dialect=DIALECT)


# -- text -> SQL -------------------------------------------------------------------------------------------------------


_ALLOWED = (
    *(exp.Parameter, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Case, exp.If, exp.And),
    *(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Greatest, exp.Least, exp.Sin, exp.Cos, exp.Exp, exp.Abs, exp.Sqrt),
    *(exp.Floor, exp.MD5, exp.Concat, exp.Substring, exp.Ascii),
)


@cache
def tree(text: str) -> exp.Expr:
    """It must not be changed: all callers share it."""
    try:
        found = sqlglot.parse_one(text, dialect=DIALECT)
    except (SqlglotError, ValueError, RecursionError) as error:
        raise Misread(f"expected a formula, found {text[:60]}") from error
    for node in found.walk():
        node._meta = None  # where it stood in the text: to copy that is most of a copy
        is_number = not isinstance(node, exp.Literal) or not node.is_string
        is_place = not isinstance(node, exp.Parameter) or _is_place(node.this)
        if not (isinstance(node, _ALLOWED) and is_number and is_place):
            raise Misread(f"{node.sql(DIALECT)[:60]} is not allowed in a formula")
    return found


def _is_place(node: Any) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def read(text: str) -> str:
    """The text, if it is a formula and nothing else."""
    tree(text)
    return text


_ARGUMENT = re.compile(r"\$(\d+)")  # no formula holds a text in which this could be


def arguments(text: str) -> frozenset[int]:
    """The places of the arguments that a formula reads."""
    return frozenset(map(int, _ARGUMENT.findall(text)))


def applied(text: str, operands: Sequence[exp.Expression]) -> exp.Expression:
    found: exp.Expr = exp.paren(tree(text).copy(), copy=False)  # an argument may be all of it
    for node in list(found.find_all(exp.Parameter)):
        operand = operands[int(node.this.name) - 1].copy()
        is_simple = isinstance(operand, exp.Column | exp.Cast | exp.Literal | exp.Paren | exp.Func)
        node.replace(operand if is_simple else exp.paren(operand, copy=False))
    applied: exp.Expression = found.this.pop()
    return applied


# -- text -> numbers ---------------------------------------------------------------------------------------------------


def values(text: str, operands: Sequence[Values]) -> Values:
    """For each row of some columns in memory, the value of the formula."""
    with np.errstate(all="ignore"):
        found: Values = _value(tree(text), operands)
    return found


def _value(node: Any, operands: Sequence[Values]) -> Any:
    if isinstance(node, exp.Add):
        total, *others = addends(node)
        found = _value(total, operands)
        for other in others:
            found = found + _value(other, operands)
        return found
    if isinstance(node, exp.Parameter):
        return operands[int(node.this.name) - 1]
    if isinstance(node, exp.Literal):
        return float(node.name) if "e" in node.name or "." in node.name else int(node.name)
    if isinstance(node, exp.Case):
        return _case(node, operands)
    if isinstance(node, exp.MD5):
        return np.vectorize(_digest, otypes=[object])(_value(node.this, operands))
    if isinstance(node, exp.Concat):
        parts = [_value(part, operands) for part in node.expressions]
        return np.vectorize(lambda *row: "".join(map(str, row)), otypes=[object])(*parts)
    if isinstance(node, exp.Substring):
        first, size = int(node.args["start"].name) - 1, int(node.args["length"].name)
        return np.vectorize(lambda v: v[first : first + size], otypes=[object])(_value(node.this, operands))
    if isinstance(node, exp.Ascii):
        return np.vectorize(ord, otypes=[float])(_value(node.this, operands))
    if isinstance(node, exp.Greatest | exp.Least):
        extreme = np.maximum if isinstance(node, exp.Greatest) else np.minimum
        found = _value(node.this, operands)
        for other in node.expressions:
            found = extreme(found, _value(other, operands))
        return found
    return _OPERATIONS[type(node)](*(_value(part, operands) for part in node.iter_expressions()))


def addends(node: Any) -> list[Any]:
    """The terms of a sum. A long one is a deep tree."""
    found: list[Any] = []
    while isinstance(node, exp.Add):
        found.append(node.expression)
        node = node.this
    return [node, *reversed(found)]


def _case(node: exp.Case, operands: Sequence[Values]) -> Any:
    found = _value(node.args["default"], operands)
    for branch in reversed(node.args["ifs"]):
        found = np.where(_value(branch.this, operands), _value(branch.args["true"], operands), found)
    return found


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


_OPERATIONS: Mapping[Any, Callable[..., Any]] = {
    exp.Paren: lambda a: a,
    exp.Neg: np.negative,
    exp.Sub: np.subtract,
    exp.Mul: np.multiply,
    exp.Div: np.divide,
    exp.LT: np.less,
    exp.LTE: np.less_equal,
    exp.GT: np.greater,
    exp.GTE: np.greater_equal,
    exp.And: np.logical_and,
    exp.Sin: np.sin,
    exp.Cos: np.cos,
    exp.Exp: np.exp,
    exp.Abs: np.abs,
    exp.Sqrt: np.sqrt,
    exp.Floor: np.floor,
}
