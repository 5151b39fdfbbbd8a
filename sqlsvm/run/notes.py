"""What a training found that its user may not expect: features that are constant, a model that predicts one class."""

from collections.abc import Iterator

from sqlsvm.plan.scaling import means
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.problem import Problem
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Perceptron

UNLIKELY = 0.9
"""If a model predicts one class only, all rows of the other class are active, and about as many of this one, because
the slope along the intercept is 0. With fewer active rows than this share of them, nothing is counted."""
ROUNDED = 1e-9
"""Counts of rows with weights are equal up to this share."""


class _SignOracle(JoinOracle):
    """Its active rows are those whose score has the wrong sign."""

    loss = Perceptron()
    phase = "finishing"


def constants(problem: Problem, beta: Array) -> Iterator[str]:
    """With `none` no feature is measured, and nothing is said."""
    moments, value = problem.moments, means(problem.scaling.design, problem.moments)
    for e in problem.scaling.elements():
        terms = problem.scaling.design.numbers.get(e.feature, ())
        if terms and all(0.0 in (moments.squares[c.index], moments.largest[c.index]) for c in terms):
            weight = 0.0 if abs(beta[e.place]) <= ROUNDED else float(beta[e.place])
            said = f"feature {e.feature} is {value[e.feature]:g} in every row of the join"
            yield f"{said}: its scaled weight is {weight:g}"


def only_class(problem: Problem, beta: Array, active: float, buckets: int | None) -> int | None:
    """The class that the model predicts for every row of the join, if there is one. `active` is the share of active
    rows at the optimum: only if it is large, a pass counts the rows whose score has the wrong sign."""
    moments = problem.moments
    place = next((e.place for e in problem.scaling.elements() if not e.feature), None)
    shares = {-1: 1 - moments.n_negative / moments.n, 1: moments.n_negative / moments.n}  # of the other class
    if place is None or problem.plan.method == "sketch" or active < UNLIKELY * 2 * min(shares.values()):
        return None
    cut = _SignOracle(problem).pass_(beta, buckets)
    if cut.error:
        return None
    return next((y for y, wrong in shares.items() if abs(cut.slope[place] - y * wrong) <= ROUNDED), None)
