"""spline:COLUMN: a smooth curve of one column, as a sum of B-splines."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.maps import formula
from sqlsvm.maps.asked import Array, Asked
from sqlsvm.maps.mapped import Mapped

KNOTS, DEGREE, OUTSIDE = 5, 3, "constant"


def spline(asked: Asked) -> Mapped:
    column, (_, arguments) = asked.number(), asked.parts
    outside = arguments[2] if len(arguments) > 2 else OUTSIDE
    if outside not in ("constant", "linear"):
        raise asked.refusal(f"outside of the knots it is constant or linear, not {outside}")
    wanted, degree = asked.whole(0, "KNOTS", 2, 1000, KNOTS), asked.whole(1, "DEGREE", 1, 5, DEGREE)
    knots = asked.quantiles(column, np.linspace(0.0, 1.0, wanted).tolist())
    formulas = b_splines(np.array(knots), degree, linear=outside == "linear")
    named = {f"{column.name}_spline{n}": formula.text_of(made) for n, made in enumerate(formulas, 1)}
    return Mapped(f"spline:{column.name}:{wanted}:{degree}:{outside}", (column.name,), named)


def b_splines(knots: Array, degree: int, *, linear: bool) -> list[exp.Expression]:
    """All but the last of them: together they are 1, and the intercept is there already."""
    t = extended(knots, degree)
    count = len(knots) + degree - 2
    return [_piecewise(_pieces(t, j, degree), knots, degree, linear=linear) for j in range(count)]


def extended(knots: Array, degree: int) -> Array:
    """With more knots at both ends, as far apart as the two at the end."""
    steps = np.arange(1, degree + 1)
    first, last = knots[1] - knots[0], knots[-1] - knots[-2]
    return np.concatenate([(knots[0] - first * steps)[::-1], knots, knots[-1] + last * steps])


def _pieces(t: Array, j: int, degree: int) -> dict[int, Array]:
    """For each interval of the knots in which the B-spline is not 0, its polynomial in the distance from the start of
    the interval, the constant first."""
    if degree == 0:
        return {j: np.ones(1)}
    found: dict[int, Array] = {}
    sides = ((j, 1.0, t[j], t[j + degree] - t[j]), (j + 1, -1.0, t[j + degree + 1], t[j + degree + 1] - t[j + 1]))
    for lower, way, origin, width in sides:
        for place, polynomial in _pieces(t, lower, degree - 1).items():
            factor = np.array([way * (t[place] - origin), way]) / width
            found[place] = found.get(place, np.zeros(degree + 1)) + np.convolve(polynomial, factor)
    return found


def _piecewise(pieces: dict[int, Array], knots: Array, degree: int, *, linear: bool) -> exp.Expression:
    """CASE WHEN x < the next knot THEN polynomial ... END. Parts that are equal become one."""
    flat = np.zeros(degree + 1)
    inner = [pieces.get(degree + place, flat) for place in range(len(knots) - 1)]
    most = 2 if linear else 1
    before, after = inner[0][:most], np.array(list(_derivatives(inner[-1], knots[-1] - knots[-2])))[:most]
    parts = [(knots[0], before), *zip(knots[:-1], inner, strict=True), (knots[-1], after)]
    written = [_polynomial(polynomial, origin) for origin, polynomial in parts]
    parted = [(end, part) for end, (part, other) in zip(knots, pairwise(written), strict=True) if part != other]
    return exp.Case(ifs=[_branch(end, part) for end, part in parted], default=written[-1])


def _branch(end: float, part: exp.Expression) -> exp.If:
    return exp.If(this=sql.less(formula.argument(1), formula.number(end)), true=part)


def _derivatives(polynomial: Array, at: float) -> Iterator[float]:
    """Each divided by its factorial."""
    made, factorial = np.polynomial.Polynomial(polynomial), 1.0
    for n in range(len(polynomial)):
        factorial *= n or 1
        yield float(made.deriv(n)(at) if n else made(at)) / factorial


def _polynomial(coefficients: Array, origin: float) -> exp.Expression:
    """c0 + u * (c1 + u * (...)) for u = x - origin."""
    (*lower, highest) = np.trim_zeros(coefficients, "b").tolist() or [0.0]
    found = formula.number(highest)
    u = sql.minus(formula.argument(1), formula.number(origin))
    for c in reversed(lower):
        found = sql.plus(formula.number(c), sql.product(u, found))
    return found
