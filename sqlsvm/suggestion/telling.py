"""Columns that tell the label: equal to it, nearly, or known only for one of its values."""

import numpy as np

from sqlsvm.engine.base import Values
from sqlsvm.solve.ranks import ranks
from sqlsvm.suggestion.looked import Looked

NEARLY = 0.99
"""The share of the rows, or of pairs of rows, that a column must tell right."""
EACH = 20
"""Rows for each value of a column: fewer say nothing."""


def tells(column: Looked, label: Looked) -> bool:
    known = ~label.missing
    if known.sum() < EACH:
        return False
    values, labels = column.values[known], label.values[known]
    missing = column.missing[known]
    if missing.any() and not missing.all() and _decides(missing.astype(float), labels):
        return True
    if column.kind == "other" or missing.all():
        return False
    return _tells_known(values[~missing], labels[~missing], len(labels))


def _tells_known(values: Values, labels: Values, rows: int) -> bool:
    if len(labels) < EACH or 2 * len(labels) < rows or len(np.unique(labels)) < 2:
        return False
    if _decides(values, labels):
        return True
    if values.dtype.kind != "f":
        return False
    if len(found := np.unique(labels)) == 2:
        return _orders(values, labels == found[1])
    return labels.dtype.kind == "f" and _goes_along(values, labels)


def _decides(values: Values, labels: Values) -> bool:
    """Has each of its values one label, nearly, and can the label not be guessed without it?"""
    _, value = np.unique(values, return_inverse=True)
    _, label = np.unique(labels, return_inverse=True)
    if (value.max() + 1) * EACH > len(values) and value.max() > 1:
        return False
    pairs = np.zeros((value.max() + 1, label.max() + 1))
    np.add.at(pairs, (value, label), 1)
    wrong, without = 1 - pairs.max(axis=1).sum() / len(values), 1 - pairs.sum(axis=0).max() / len(values)
    return bool(wrong <= (1 - NEARLY) and wrong <= 0.05 * without)


def _orders(values: Values, positive: Values) -> bool:
    """Are those of one class above those of the other?"""
    yes = positive.astype(float)
    below, _ = ranks(values, 1.0 - yes, yes)
    ties, _ = ranks(-values, 1.0 - yes, yes)
    pairs = yes.sum() * (1 - yes).sum()
    return bool(max(yes @ below, yes @ ties) / pairs >= NEARLY)


def _goes_along(values: Values, labels: Values) -> bool:
    if np.ptp(values) == 0 or np.ptp(labels) == 0:
        return False
    return bool(abs(np.corrcoef(values, labels)[0, 1]) >= 0.999)
