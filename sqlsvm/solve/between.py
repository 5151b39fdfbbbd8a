"""A point between those of passes. R is convex, so without another pass it is known that R is no more there than the
mean of what it is at those points, and the mean of their cuts is a cut.
"""

from typing import Any

import numpy as np

from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.run import Proposal, Run
from sqlsvm.solve.simplex_qp import solve_simplex_qp


def between(run: Run[Any]) -> Proposal | None:
    """The best mean of points that may be a solution; None if it does not prove enough."""
    places = range(run.seen, len(run.cuts))
    if not places:
        return None
    points, most = (np.array([of(i) for i in places]) for of in (run.points.__getitem__, run.most))
    best = np.eye(len(most))[int(most.argmin())]
    alpha = solve_simplex_qp(points @ points.T, -most, 1.0 / run.penalty.curvature, best)
    point = alpha @ points
    slope = alpha @ np.array([run.cuts[i].slope for i in places])
    offset = float(alpha @ [run.cuts[i].offset for i in places])
    low, value = offset + float(slope @ point), float(alpha @ most)
    upper = value + run.penalty.value(point)
    if upper - run.bundle.lower_bound() > run.effort.tol * upper or not run.balances(point):
        return None
    return Proposal(point, None, 0.0, Cut(slope, offset, low, max(0.0, value - low), None))
