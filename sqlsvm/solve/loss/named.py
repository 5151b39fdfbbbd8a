"""The losses by name."""

from collections.abc import Callable, Mapping

from sqlsvm.options import DEFAULTS
from sqlsvm.solve.loss.base import Loss
from sqlsvm.solve.loss.logistic import Logistic
from sqlsvm.solve.loss.two_classes import HINGE, MODIFIED_HUBER, SQUARED_HINGE, smooth_hinge

_NAMED: Mapping[str, Callable[[float], Loss]] = {
    "hinge": lambda _: HINGE,
    "squared_hinge": lambda _: SQUARED_HINGE,
    "smooth_hinge": smooth_hinge,
    "modified_huber": lambda _: MODIFIED_HUBER,
    "logistic": lambda _: Logistic(),
}


def named(name: str = DEFAULTS["loss"], width: float = DEFAULTS["width"]) -> Loss:
    return _NAMED[name](width)
