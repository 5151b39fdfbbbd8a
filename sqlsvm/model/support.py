"""The support vectors of a kernel machine: rows of the tables, which of them meet, and how much each meeting counts.

score = intercept + the sum over support vectors of coefficient * kernel(sum over tables of s), where s is the inner
product or the squared distance of two rows of one table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sqlsvm.kernel.functions import Kernel
from sqlsvm.kernel.rows import Block, Joined
from sqlsvm.options import KernelName, Number
from sqlsvm.reading import Misread
from sqlsvm.solve.arrays import Array

Place = Annotated[int, Number(0, whole=True)]

AT_ONCE = 1 << 22  # values of the kernel


@dataclass(frozen=True)
class SupportTable:
    """Rows of one table, or of a feature that adds up several: numbers as scaled for the training, and for a category
    its place among the categories of the feature, from 1; 0 is none of them."""

    relation: str
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    numbers: tuple[tuple[float, ...], ...]
    codes: tuple[tuple[Place, ...], ...]
    rows: tuple[Place, ...]  # of each support vector

    @property
    def block(self) -> Block:
        numbers = np.array(self.numbers, dtype=float).reshape(len(self.numbers), len(self.numeric))
        codes = np.array(self.codes, dtype=np.int64).reshape(len(self.codes), len(self.categorical))
        return Block(numbers, codes, self.numeric, self.categorical)


@dataclass(frozen=True)
class Support:
    kernel: KernelName
    gamma: float
    sample: Place  # the join rows that it was trained on
    whole: bool  # were these all rows of the join?
    coefficients: tuple[float, ...]
    tables: tuple[SupportTable, ...]

    @property
    def function(self) -> Kernel:
        return Kernel(self.kernel, self.gamma)

    @property
    def rows(self) -> Joined:
        return Joined(tuple(table.block for table in self.tables), np.array([table.rows for table in self.tables]))

    @classmethod
    def of(cls, rows: Joined, relations: tuple[str, ...], beta: Array, kernel: Kernel, *, whole: bool) -> "Support":
        """The rows whose beta is not 0."""
        kept = rows[beta != 0.0]
        tables = tuple(
            SupportTable(
                relation=relation,
                numeric=b.numeric,
                categorical=b.categorical,
                numbers=tuple(map(tuple, b.numbers.tolist())),
                codes=tuple(map(tuple, b.codes.tolist())),
                rows=tuple(places.tolist()),
            )
            for relation, b, places in zip(relations, kept.blocks, kept.index, strict=True)
        )
        return cls(kernel.name, kernel.gamma, len(rows), whole, tuple(beta[beta != 0.0].tolist()), tables)

    def joined(self, values: Callable[[str], Array]) -> Joined:
        """Rows with these scaled numbers and places of categories."""
        return Joined.of([self._block(table, values) for table in self.tables])

    @staticmethod
    def _block(table: SupportTable, values: Callable[[str], Array]) -> Block:
        cells = [values(name) for name in (*table.numeric, *table.categorical)]
        rows, numbers = np.column_stack(cells), len(table.numeric)
        return Block(rows[:, :numbers].astype(float), rows[:, numbers:].astype(np.int64))

    def scores(self, rows: Joined) -> Array:
        """Without the intercept."""
        own, coefficients = self.rows, np.array(self.coefficients)
        step = max(1, AT_ONCE // len(coefficients))
        parts = (rows[first : first + step] for first in range(0, len(rows), step))
        return np.concatenate([part.values(own, self.function) @ coefficients for part in parts] or [np.zeros(0)])


def _agreeing(found: Support) -> Support:
    """Each table has a row for each support vector, with a cell for each feature."""
    if not found.tables or not found.coefficients:
        raise Misread("there are no support vectors").at("coefficients")
    for n, table in enumerate(found.tables):
        if said := _wrong(table, len(found.coefficients)):
            raise Misread(said).at(n).at("tables")
    return found


def _wrong(table: SupportTable, vectors: int) -> str | None:
    if len(table.rows) != vectors or len(table.codes) != len(table.numbers):
        return "it has another number of rows than the support vectors"
    if any(place >= len(table.numbers) for place in table.rows):
        return "it has fewer rows than its support vectors name"
    widths = {(len(numbers), len(codes)) for numbers, codes in zip(table.numbers, table.codes, strict=True)}
    if widths != {(len(table.numeric), len(table.categorical))}:
        return "its rows have other features than it names"
    return None


StoredSupport = Annotated[Support, _agreeing]
