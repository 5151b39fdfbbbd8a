"""Which bags are shared by buckets in a pass on the grid.

If all scores of a bag are less than half a bucket, they are all rounded to 0. Then a pass counts as if the weights of
the bag were 0, however far they are from there, and its slope does not tell which way they should move. So a row whose
score lies between two buckets is in part in both. What it counts then follows its score, however small that is. A bag
has more states by that, but few if all its scores lie in few buckets.
"""

from math import sqrt

import numpy as np

from sqlsvm.plan.plan import Bag, Plan
from sqlsvm.run.data import Data
from sqlsvm.solve.arrays import Array

FEW = 0.5
"""Buckets that scores deviate by. With more, enough rows lie on both sides of the ends of buckets."""


def shareable(plan: Plan) -> frozenset[int]:
    """Bags that meet others by one key only. In the middle of the join nearly every row is a state of its own, and it
    would be two. The bag of the label has a residual, not only a score."""
    outer = (bag for bag in plan.bags if len(plan.linked(bag.number)) == 1)
    return frozenset(bag.number for bag in outer if plan.label_node not in bag.nodes and plan.scored(bag))


def is_narrow(problem: Data, bag: int, theta: Array, per_unit: float) -> bool:
    """Are the scores of this bag in few buckets?"""
    return 0.0 < _deviation(problem, problem.plan.bags[bag], theta) * per_unit < FEW


def _deviation(problem: Data, bag: Bag, theta: Array) -> float:
    """About that of its scores, as if no features went together. Scaling by the largest value measures no variance."""
    plan, moments = problem.plan, problem.moments
    numbers = [c.index for node in bag.nodes for c in plan.coordinates(node)]
    squares = moments.squares[numbers] / moments.n
    spread = squares - (moments.total[numbers] / moments.n) ** 2
    variances = np.where(np.isnan(squares), moments.largest[numbers] ** 2, np.maximum(spread, 0.0))
    of_categories = [theta[d.offset :][: len(d.categories)] for node in bag.nodes for d in plan.dictionaries(node)]
    return sqrt(theta[numbers] ** 2 @ variances + sum(np.max(each**2, initial=0.0) for each in of_categories))
