"""The losses. One loss is one file."""

from sqlsvm.solve.loss.base import Loss
from sqlsvm.solve.loss.hinge import Hinge

__all__ = ["Hinge", "Loss"]
