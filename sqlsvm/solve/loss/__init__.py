"""The losses. One loss is one file."""

from sqlsvm.solve.loss.base import Loss
from sqlsvm.solve.loss.hinge import Hinge, Perceptron

__all__ = ["Hinge", "Loss", "Perceptron"]
