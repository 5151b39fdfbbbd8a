"""The losses."""

from sqlsvm.solve.loss.logistic import Logistic
from sqlsvm.solve.loss.named import named
from sqlsvm.solve.loss.numbers import SQUARED
from sqlsvm.solve.loss.piecewise import Change, Loss, Piece, Piecewise
from sqlsvm.solve.loss.two_classes import HINGE, MODIFIED_HUBER, PERCEPTRON, SQUARED_HINGE, smooth_hinge

__all__ = [
    "HINGE",
    "MODIFIED_HUBER",
    "PERCEPTRON",
    "SQUARED",
    "SQUARED_HINGE",
    "Change",
    "Logistic",
    "Loss",
    "Piece",
    "Piecewise",
    "named",
    "smooth_hinge",
]
