"""What was chosen for a training, and what every candidate did on rows that it had not seen."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Measured:
    """A candidate."""

    loss: str
    strength: float
    mean: float  # of the measure over the parts
    error: float  # the standard error of how far it is from that of the one that was chosen, in the same parts
    parts: tuple[float, ...]

    @property
    def error_of_mean(self) -> float:
        """The standard error of the mean."""
        return float(np.std(self.parts, ddof=1) / np.sqrt(len(self.parts)))


@dataclass(frozen=True)
class Chosen:
    options: tuple[str, ...]  # what was auto
    loss: str
    strength: float  # of the penalty: lambda, or l1
    measure: str
    split: str  # what the parts are
    rows: int  # different ones, of the label's table unless `of` says otherwise
    tried: tuple[Measured, ...]
    share: float = 1.0
    """How many of these rows a part was trained on, as a share of those of the model: there lambda was
    divided by it."""
    of: str = "the label's table"  # whose rows parts are made of
    cut: float | None = None
    """From where on a row is of the positive class: so many deviations of the scores above their mean."""

    @property
    def best(self) -> Measured:
        """The candidate that was chosen."""
        return next(each for each in self.tried if (each.loss, each.strength) == (self.loss, self.strength))

    @property
    def short(self) -> "Chosen":
        """Without the other candidates: there may be a thousand groups."""
        return replace(self, tried=(self.best,))

    @property
    def strength_of(self) -> str:
        """The option that the strength is of."""
        return "l1" if "l1" in self.options else "lambda"
