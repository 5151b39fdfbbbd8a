"""Rows of the join in memory, scaled: drawn, or read whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.joined import TIMES
from sqlsvm.engine.base import Rows
from sqlsvm.plan.scaling import Scaling
from sqlsvm.plan.target import CODE, Target
from sqlsvm.query.ir import MARKS
from sqlsvm.solve.arrays import Array, Indices, Singles
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.rows import SampleRows

T = TypeVar("T", np.float32, np.float64)

AT_ONCE = 4096
"""Rows that are written column by column while they are in the processor's cache."""


@dataclass(frozen=True)
class Drawn:
    """Rows of the join with the codes of their labels: what these mean is up to each training."""

    rows: SampleRows
    codes: Array
    weights: Array
    optima: dict[int, dict[Any, Array]] = field(default_factory=dict)
    """What was found on them, by the code of the class that is +1."""
    clusters: Array | None = None
    """The number of the row of the label's relation that each is of, if that was asked for."""
    marks: Rows = field(default_factory=dict)
    """What each tells of that row (rewrites/marks.py), if the plan says so."""

    def as_sample(self, target: Target, origin: float | None) -> Sample:
        """With their signs and origins; `origin` is the one that classes have."""
        signs, origins = target.as_rows(self.codes, origin or 0.0)
        return Sample(self.rows, signs, origins, self.weights, self.optima.setdefault(target.chosen, {}))


Samples = dict[tuple[int, int], Drawn]
"""Those that were read, by size and seed."""


def read_rows(scaling: Scaling, rows: Rows, weights: Array) -> Drawn:
    """Rows of the join that were read already, each with its weight."""
    numbers, ones, codes = Reader(scaling).read_once(rows, np.float64)
    return Drawn(SampleRows(numbers, ones, scaling.dimension), codes, weights, marks=marks_in(scaling, rows))


def marks_in(scaling: Scaling, rows: Rows, times: Indices | int = 1) -> Rows:
    """What rows tell of that of the label, and where their numbers are NULL."""
    found = {name: rows[name].astype(float).repeat(times) for name in MARKS if name in rows}
    if not found:
        return found
    nulls = (c.column for c in scaling.design.coordinates if c.role == "missing" and c.column in rows)
    return found | {name: (rows[name] > 0.0).repeat(times) for name in nulls}


def together(parts: Sequence[Drawn]) -> Drawn:
    each = ((part.rows.numbers, part.rows.ones, part.codes, part.weights) for part in parts)
    numbers, ones, codes, weights = (np.concatenate(arrays) for arrays in zip(*each, strict=True))
    marks = {name: np.concatenate([part.marks[name] for part in parts]) for name in parts[0].marks}
    return Drawn(SampleRows(numbers, ones, parts[0].rows.width), codes, weights, marks=marks)


class Reader:
    """Turns blocks of the answer into features: scaled numbers, then a 0/1 column for each category."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling, self.design, self.matrix = scaling, scaling.design, scaling.matrix

    def read(self, rows: Rows) -> tuple[Singles, Indices, Array]:
        """Numbers, places of ones, labels: each row as often as it was drawn."""
        times = rows[TIMES].astype(int)
        numbers, ones, labels = self.read_once(rows, np.float32)
        if (times == 1).all():
            return numbers, ones, labels
        return numbers.repeat(times, axis=0), ones.repeat(times, axis=0), labels.repeat(times)

    def read_once(self, rows: Rows, precision: type[T]) -> tuple[NDArray[T], Indices, Array]:
        return self._numbers(rows, precision), self._ones(rows), rows[CODE].astype(float)

    def _numbers(self, rows: Rows, precision: type[T]) -> NDArray[T]:
        constant = np.ones(len(rows[CODE]))
        columns = [rows.get(c.column, constant) for c in self.design.coordinates]
        found = np.empty((len(constant), len(self.matrix)), dtype=precision)
        terms = [[(row[index], columns[index]) for index in np.flatnonzero(row).tolist()] for row in self.matrix]
        for start in range(0, len(found), AT_ONCE):
            here = slice(start, start + AT_ONCE)
            for place, ((factor, column), *others) in enumerate(terms):
                value = factor * column[here]
                for factor, column in others:
                    value += factor * column[here]
                found[here, place] = value
        return found

    def _ones(self, rows: Rows) -> Indices:
        found = np.full((len(rows[CODE]), len(self.design.dictionaries)), self.scaling.dimension)
        for d in self.design.dictionaries:
            number = rows[number_column(d)].astype(float)
            (known,) = np.nonzero(~np.isnan(number))
            found[known, d.number] = number[known].astype(int) - 1 - self.scaling.unkept
        return found
