"""The losses by name."""

from collections.abc import Callable, Mapping, Sequence

from sqlsvm.options import DEFAULTS, LossPiece
from sqlsvm.solve.loss import numbers
from sqlsvm.solve.loss.custom import of_margin, of_pieces
from sqlsvm.solve.loss.logistic import Logistic
from sqlsvm.solve.loss.piecewise import Loss
from sqlsvm.solve.loss.two_classes import HINGE, MODIFIED_HUBER, SQUARED_HINGE, smooth_hinge

_PLAIN: Mapping[str, Loss] = {
    "hinge": HINGE,
    "squared_hinge": SQUARED_HINGE,
    "modified_huber": MODIFIED_HUBER,
    "logistic": Logistic(),
    "absolute": numbers.absolute(),
    "squared": numbers.SQUARED,
}
_OF_ONE: Mapping[str, tuple[str, Callable[[float], Loss]]] = {
    "smooth_hinge": ("width", smooth_hinge),
    "epsilon_insensitive": ("tube", numbers.epsilon_insensitive),
    "squared_epsilon_insensitive": ("tube", numbers.squared_epsilon_insensitive),
    "quantile": ("quantile", numbers.quantile),
    "huber": ("delta", numbers.huber),
}
"""Those with a parameter, which is the option of that name."""


_OWN: Mapping[str, Callable[[Sequence[LossPiece]], Loss]] = {"custom": of_pieces, "custom_margin": of_margin}


def named(name: str = DEFAULTS["loss"], pieces: Sequence[LossPiece] = (), **options: float) -> Loss:
    """An option that is not given has its default."""
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _OWN:
        return _OWN[name](pieces)
    option, made = _OF_ONE[name]
    return made(options.get(option, DEFAULTS[option]))
