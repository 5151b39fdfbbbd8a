"""Losses for a label with two classes; z = 1 - y score."""

from dataclasses import replace

from sqlsvm.solve.loss.piecewise import Change, Piece, Piecewise

_NOTHING = Piece(0.0, 0.0, 0.0, 0.0)

HINGE = Piecewise(_NOTHING, (Change(0.0, jump=1.0),))  # max(0, z)
PERCEPTRON = replace(HINGE, origin=0.0)
"""The same with z = -y score, which is positive where the sign of the score is wrong."""
SQUARED_HINGE = Piecewise(_NOTHING, (Change(0.0, bend=2.0),))  # max(0, z)^2
MODIFIED_HUBER = Piecewise(_NOTHING, (Change(0.0, bend=2.0), Change(2.0, bend=-2.0)))
"""max(0, z)^2 up to z = 2, and 4 z - 4 beyond"""


def smooth_hinge(width: float) -> Piecewise:
    """0 below -width, z above width, (z + width)^2 / (4 width) between."""
    return HINGE.smoothed(width)
