"""What a solver may ask of the data, and what it gets back. Nothing here knows where the rows are stored."""

from dataclasses import dataclass, field
from typing import Protocol

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.rounding import Rounding
from sqlsvm.solve.rows import SampleRows


@dataclass(frozen=True)
class Cut:
    """A global minorant of R, made at some beta: R(b) >= offset + slope.b for every b.

    At the beta where it was made, offset + slope.beta <= value_low <= R(beta) <= value_low + error. A cut with a width
    counts a row in part where its residual is closer to a knot than that.
    """

    slope: Array
    offset: float
    value_low: float
    error: float
    buckets: int | None
    width: float = 0.0

    def short(self, beta: Array) -> float:
        """How far it is below R at the beta where it was made."""
        return self.value_low - self.offset - float(self.slope @ beta)


@dataclass(frozen=True)
class Sample:
    """Uniform rows of the join with their signs and origins; F on them is normalised by the sum of the weights."""

    rows: SampleRows
    signs: Array
    origins: Array
    weights: Array
    optima: dict[tuple[Loss, float, float], Array] = field(default_factory=dict)
    """Those that were found on these rows, by the loss, the strength of the penalty and the tolerance."""


class CutOracle(Protocol):
    """What makes cuts of R."""

    @property
    def dimension(self) -> int:
        """The number of internal coordinates of beta."""

    @property
    def join_rows(self) -> float:
        """N, the sum of the weights of all rows of the join."""

    @property
    def exact(self) -> bool:
        """True when every cut has error 0 and `buckets` is ignored."""

    @property
    def soft(self) -> bool:
        """True when a pass may have a width."""

    @property
    def rounding(self) -> Rounding:
        """How far a cut may be off, because sums are rounded, if no row has a slope above 1."""

    def adds_values(self, width: float) -> bool:
        """Is the value of such a pass a sum over the rows, and not offset + slope.beta?"""

    def size(self, beta: Array, cut: Cut) -> tuple[float, float]:
        """What that is multiplied by for the offset and for the slope of this cut, which was made at beta."""

    def pass_(self, beta: Array, buckets: int | None, width: float = 0.0) -> Cut:
        """One relational pass: the cut at beta, counted with scores in multiples of 1/buckets.

        A row with the residual z counts psi'(z), of the loss that is smoothed by that width.
        """


class Oracle(CutOracle, Protocol):
    """R(beta) = sum w psi(origin - sign beta.x) / sum w over the join, through relational passes."""

    @property
    def loss(self) -> Loss:
        """psi."""

    @property
    def soft_is_cheap(self) -> bool:
        """True when a pass with a width takes about as long as one without."""

    def sample(self, size: int, seed: int) -> Sample:
        """Rows drawn uniformly from the join; the same seed gives the same rows."""

    @property
    def rows_read(self) -> float:
        """About how many rows of tables a pass reads; 0 where they are in memory."""

    @property
    def bags(self) -> int:
        """Of how many tables the rows meet many to many in a pass; 1 if none do."""

    def refine(self, enough: float) -> None:
        """In the passes to come, what rows count by shall be off from psi by no more than this, if that can be. It is a
        part of the error of cuts that no grid makes less."""

    @property
    def even(self) -> bool:
        """True when rounding counts as many rows too many as too few, so that the slope hardly depends on the grid."""

    def roundings(self, beta: Array, buckets: int) -> int:
        """How often a pass at beta rounds what a row's residual is made of; 0 where it is exact."""

    @property
    def whole(self) -> bool:
        """True when a sample is all rows of the join in full precision."""


class PseudoOracle(Protocol):
    """What the paper's descent asks instead of cuts: everything within a factor (1 + epsilon)."""

    @property
    def dimension(self) -> int: ...

    def pseudo_gradient(self, beta: Array, epsilon: float) -> Array:
        """The counted part of the pseudo-gradient: sum over far rows of -y x, divided by N."""

    def value_low(self, beta: Array, epsilon: float) -> float:
        """An estimate of R between max(0, R') / (1 + epsilon) and R', where R' <= R is the loss
        of the perturbed rows (residuals 1 - y beta.x - epsilon |beta|.|x|)."""
