"""How good a model with groups is: on the rows of each group, and on all of them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Named, Residuals

Found = Evaluation | Residuals | Confusion


@dataclass(frozen=True)
class Measured:
    value: object
    """Of the column that makes the groups."""
    found: Found

    @property
    def rows(self) -> float:
        return float(np.sum(self.found.rows))


@dataclass(frozen=True)
class ByGroup:
    """How good a model with groups is."""

    by: str
    groups: tuple[Measured, ...]
    whole: Found | None
    """Over all groups together, without what compares scores; None if no row is in a group with a model."""
    missed: float
    """The rows of the join that are in no group with a model."""
    of: Named = field(default=Named(), compare=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        each = [{"value": one.value, **_short(one.found)} for one in self.groups]
        whole = {} if self.whole is None else _short(self.whole)
        return {"by": self.by, "rows_without_model": self.missed, "all": whole, "groups": each}


def _short(found: Found) -> dict[str, Any]:
    """Without histograms and curves: there may be a thousand groups."""
    return {name: value for name, value in found.as_json().items() if name not in ("histogram", "reliability")}
