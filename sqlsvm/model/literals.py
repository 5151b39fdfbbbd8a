"""Numbers and values of a model as SQL."""

from math import isfinite

from sqlglot import exp

from sqlsvm import sql


def exact(value: float) -> exp.Expression:
    """An exact double. Because of the exponent, no engine reads it as a decimal with fewer digits.

    >>> exact(-0.1).sql("postgres")
    'CAST(-0.1e0 AS DOUBLE PRECISION)'
    """
    if not isfinite(value):
        return sql.double(exp.Literal.string(repr(float(value))))
    text = repr(abs(float(value)))
    number: exp.Expression = exp.Literal.number(text if "e" in text else f"{text}e0")
    return sql.double(sql.negated(number) if float(value) < 0 else number)


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
