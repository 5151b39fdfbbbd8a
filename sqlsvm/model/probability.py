"""The probability of the positive class as a function of the score."""

from dataclasses import dataclass
from math import isnan
from typing import Annotated

import numpy as np

from sqlsvm.options import ProbabilityMethod
from sqlsvm.reading import Misread
from sqlsvm.solve.arrays import Array

STEEPEST = 700.0  # exp of more is no double


@dataclass(frozen=True)
class Probability:
    """`sigmoid`: 1 / (1 + exp(slope score + offset)). `isotonic`: `shares` at `scores`, straight lines between them,
    and the first and the last share beyond."""

    method: ProbabilityMethod
    slope: float = 0.0
    offset: float = 0.0
    scores: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()

    def __call__(self, score: Array) -> Array:
        if self.method == "isotonic":
            found: Array = np.interp(score, self.scores, self.shares)
        else:
            found = 1.0 / (1.0 + np.exp(np.clip(self.slope * score + self.offset, -STEEPEST, STEEPEST)))
        return np.where(np.isnan(score), np.nan, found)


OWN_PROBABILITY = Probability("sigmoid", -1.0)  # that of the logistic loss


def of_classes(found: Array) -> Array:
    """A column for each class, of the probabilities of the positive one, or of each class against all others."""
    return normalised(found) if found.ndim == 2 else np.column_stack([1.0 - found, found])


def normalised(each: Array) -> Array:
    """Probabilities of classes, each against all others, divided by their sum in each row; equal ones if all are 0."""
    whole = each.sum(axis=1, keepdims=True)
    found: Array = np.divide(each, whole, out=np.full_like(each, 1.0 / each.shape[1]), where=whole != 0.0)
    return found


def _agreeing(found: Probability) -> Probability:
    if found.method == "isotonic":
        if not found.scores or len(found.scores) != len(found.shares):
            raise Misread(f"{len(found.scores)} scores have {len(found.shares)} shares").at("shares")
        if any(b <= a for a, b in zip(found.scores, found.scores[1:], strict=False)):
            raise Misread("the scores must rise").at("scores")
        if any(isnan(share) or not 0.0 <= share <= 1.0 for share in found.shares):
            raise Misread("a share is between 0 and 1").at("shares")
    return found


StoredProbability = Annotated[Probability, _agreeing]
