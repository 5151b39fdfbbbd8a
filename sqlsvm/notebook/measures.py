"""What an evaluation has found, as columns of a frame."""

from typing import Any

from sqlsvm.measures import MEASURES, of_scores
from sqlsvm.model.by_group import ByGroup
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals


def of_measures(found: Evaluation | Residuals | Confusion) -> dict[str, list[Any]]:
    """The ends of an interval are nan where there is none."""
    values = _values(found) | {name: each.value for name, each in found.intervals.items()}
    ends = [(found.intervals[n].lower, found.intervals[n].upper) if n in found.intervals else NONE for n in values]
    lower, upper = zip(*ends, strict=True)
    return {"measure": [*values], "value": [*values.values()], "lower": [*lower], "upper": [*upper]}


NONE = (float("nan"), float("nan"))


def of_groups(found: ByGroup) -> dict[str, list[Any]]:
    each = [_values(one.found) for one in found.groups]
    names = dict.fromkeys(name for values in each for name in values)
    rows = {name: [values.get(name, NONE[0]) for values in each] for name in names}
    return {found.by: [one.value for one in found.groups], "rows": [one.rows for one in found.groups], **rows}


def _values(found: Evaluation | Residuals | Confusion) -> dict[str, float]:
    if isinstance(found, Confusion):
        return found.measures
    names = of_scores(found.kind, probabilities=True)
    known = {name: MEASURES[name].value(found) for name in names}
    return {name: value for name, value in known.items() if value is not None}
