"""Losses by their pieces, with falling arms, knots and a least value above 0."""

import numpy as np

from sqlsvm.engine.base import Values
from sqlsvm.solve.loss import Change, Piece, Piecewise

QUANTILE = Piecewise(Piece(0.0, 0.0, -0.1, 0.0), (Change(0.0, jump=1.0),))
TUBE = Piecewise(Piece(-0.3, 0.0, -1.0, 0.0), (Change(-0.3, jump=1.0), Change(0.3, jump=1.0)))
HUBER = Piecewise(Piece(-0.5, 0.125, -0.5, 0.0), (Change(-0.5, bend=1.0), Change(0.5, bend=-1.0)))
SQUARED = Piecewise(Piece(0.0, 0.0, 0.0, 1.0), (Change(0.0),))
MIXED = Piecewise(Piece(-1.0, 2.0, -3.0, 0.5), (Change(-1.0, 1.0, 1.5), Change(0.5, 0.25), Change(0.6, 2.0, -2.0)))
HIGH = Piecewise(Piece(-1.0, 2.0, -2.0, 0.0), (Change(-1.0, jump=2.0), Change(1.0, jump=2.0)))
"""|z - 1| + |z + 1|, which is 2 between its knots."""


def in_unit(loss: str, lam: float, l1: float, t: Values, w: Values, delta: float) -> tuple[float, float]:
    """lambda and l1 for the label t as it is, if they are for t in its deviations: there F is as much smaller as a loss
    of that degree. Beyond delta the loss of Huber is straight. The deviation of one far from 0 is not known."""
    share = w / w.sum()
    width = float(np.sqrt(share @ (t - share @ t) ** 2))
    if width <= 1e-6 * np.sqrt(share @ (t * t)):
        return lam, l1
    straight = loss in ("absolute", "epsilon_insensitive", "quantile")
    unit = width if straight else width * min(width, delta) if loss == "huber" else width**2
    return lam * unit / width**2, l1 * unit / width
