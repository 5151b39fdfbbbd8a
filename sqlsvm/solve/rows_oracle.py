"""All rows of a problem in memory, as an oracle: a pass is a sum over them."""

from dataclasses import dataclass
from functools import cached_property

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Cut, Sample
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.rounding import UNIT, Rounding


@dataclass(frozen=True)
class RowsOracle:
    rows: Sample
    loss: Loss
    penalty: Penalty
    rounding: Rounding

    exact = True
    whole = True
    soft_is_cheap = True
    rows_read = 0.0
    bags = 1
    even = True

    @property
    def dimension(self) -> int:
        return self.rows.rows.width

    @cached_property
    def join_rows(self) -> float:
        return float(self.rows.weights.sum())

    @property
    def soft(self) -> bool:
        return bool(self.loss.knots)

    @cached_property
    def _local(self) -> LocalProblem:
        return LocalProblem.of(self.rows, self.loss, self.penalty)

    def refine(self, enough: float) -> None:
        """It counts by the loss itself."""

    def roundings(self, beta: Array, buckets: int) -> int:
        return 0

    def adds_values(self, width: float) -> bool:
        return True

    def size(self, beta: Array, cut: Cut) -> tuple[float, float]:
        return self.loss.size(cut.value_low, self._local.origin, self.rounding.share or UNIT)

    def pass_(self, beta: Array, buckets: int | None, width: float = 0.0) -> Cut:
        return self._local.cut(beta, width)

    def sample(self, size: int, seed: int) -> Sample:
        return self.rows
