"""Design + moments -> Scaling: the linear map between the raw coordinates that SQL sees and the features trained on."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlsvm.errors import DataError
from sqlsvm.options import Nulls, Scale
from sqlsvm.plan.design import Coordinate, Design
from sqlsvm.solve.arrays import Array, Indices


@dataclass(frozen=True)
class Moments:
    """Of every coordinate over the join: the sums of x and x^2, the largest |x|, the sum for y = -1."""

    n: float
    n_negative: float
    n_unlabelled: float
    total: Array
    squares: Array
    largest: Array
    total_negative: Array


@dataclass(frozen=True)
class Element:
    """beta[place] is the weight of a feature, and theta[index] that of its raw coordinate. A number has no category,
    and the intercept has no name."""

    place: int
    index: int
    feature: str
    category: object = None


@dataclass(frozen=True)
class Scaling:
    """The linear map between the features that are trained on and the raw coordinates.

    Feature j is (x_j - centre_j) / width_j, where a missing x_j is the mean of the others. With beta for features,
    theta = to_raw(beta) gives the same scores on raw coordinates; from_raw maps counted sums back.
    """

    design: Design
    matrix: Array
    """T: features x coordinates, dense for numbers; categories pass through."""

    @cached_property
    def kept(self) -> Indices:
        """The coordinates that are features: all but the indicators of missing values."""
        return np.array([c.index for c in _kept(self.design)], dtype=int)

    @property
    def indicators(self) -> int:
        """How many coordinates of theta have no element in beta. The categories come after them."""
        return len(self.design.indicators)

    @property
    def dimension(self) -> int:
        return self.design.size - self.indicators

    def elements(self) -> Iterator[Element]:
        """What each element of beta is the weight of, in order."""
        yield from (Element(place, c.index, c.feature) for place, c in enumerate(_kept(self.design)))
        for d in self.design.dictionaries:
            for index, category in enumerate(d.categories, d.offset):
                yield Element(index - self.indicators, index, d.feature, category)

    def scale(self, e: Element) -> tuple[float, float]:
        """Centre and width of a number: its feature is (x - centre) / width."""
        row = self.matrix[e.place]
        constant = next((c.index for c in self.design.coordinates if c.role == "intercept"), None)
        width = 1.0 / float(row[e.index])
        return (0.0 if constant is None else 0.0 - float(row[constant]) * width), width

    def to_raw(self, beta: Array) -> Array:
        numbers = self.matrix.shape[0]
        return np.concatenate([self.matrix.T @ beta[:numbers], beta[numbers:]])

    def to_scaled(self, theta: Array) -> Array:
        """The beta whose to_raw is theta. The weights of missing values follow from the others."""
        numbers = np.linalg.solve(self.matrix[:, self.kept].T, theta[self.kept])
        return np.concatenate([numbers, theta[self.matrix.shape[1] :]])

    def from_raw(self, sums: Array) -> Array:
        d = self.matrix.shape[1]
        return np.concatenate([self.matrix @ sums[:d], sums[d:]])


FLAT = 1e-10
"""The variance, as a share of the mean square, of a feature whose deviation is 10^-5 of its size."""


def _kept(design: Design) -> list[Coordinate]:
    return [c for c in design.coordinates if c.role != "missing"]


def means(design: Design, moments: Moments) -> dict[str, float]:
    """For each feature that is a number, the mean of the values that are not NULL."""
    return {c.feature: float(_mean(design, moments, c)[0]) for c in design.coordinates if c.role == "value"}


def flat(design: Design, moments: Moments) -> list[Coordinate]:
    """Features that are constant, or whose mean is much larger than their deviation."""

    def is_flat(c: Coordinate) -> bool:
        mean, present = _mean(design, moments, c)
        squares = moments.squares[c.index]
        return bool(squares > 0.0 and squares - present * mean * mean <= FLAT * squares)

    return [c for c in design.coordinates if c.role == "value" and is_flat(c)]


def _mean(design: Design, moments: Moments, c: Coordinate) -> tuple[float, float]:
    """The mean of the values that are not NULL, and their number."""
    indicator = design.indicators.get(c.feature)
    present = moments.n - (0.0 if indicator is None else moments.total[indicator])
    return moments.total[c.index] / present if present > 0 else 0.0, present


def scaling(design: Design, moments: Moments, how: Scale) -> Scaling:
    """T such that feature = T raw. Centring needs the constant, so without an intercept nothing is centred."""
    constant = next((c.index for c in design.coordinates if c.role == "intercept"), None)
    kept = _kept(design)
    matrix = np.zeros((len(kept), len(design.coordinates)))
    for row, c in enumerate(kept):
        matrix[row, c.index] = 1.0
        if c.role == "intercept":
            continue
        mean, present = _mean(design, moments, c)
        if c.feature in design.indicators:
            matrix[row, design.indicators[c.feature]] = mean
        if how == "maxabs":
            matrix[row] /= max(moments.largest[c.index], abs(mean) if present < moments.n else 0.0) or 1.0
        if how == "standard":
            variance = (moments.squares[c.index] - present * mean * mean) / moments.n
            noise = 1e-12 * moments.squares[c.index] / moments.n  # the subtraction leaves this much of a constant
            matrix[row] /= np.sqrt(variance) if variance > noise else 1.0
            if constant is not None:
                matrix[row, constant] -= mean * matrix[row, c.index]
    return Scaling(design, matrix)


def check_values(design: Design, moments: Moments, nulls: Nulls) -> None:
    """Refuse NaN, infinity, and a NULL if the options do not say how to treat it."""
    for c in design.coordinates:
        if not np.isfinite(moments.total[c.index]):
            raise DataError(
                f"feature {c.feature} is NaN or infinite in some rows of the join",
                hint=f"leave those rows out in WHERE, or write NULLIF({c.feature}, 'NaN')",
            )
        if np.isinf(moments.squares[c.index]):  # NaN if they were not measured
            raise odd_squares(c.feature, "large", "/ 1e100")
        if nulls == "error" and c.role == "missing" and moments.total[c.index] > 0:
            raise DataError(
                f"feature {c.feature} is NULL in {moments.total[c.index]:,.0f} rows of the join",
                hint="say what that means: --nulls mean (the mean of the others) or --nulls drop (leave the row out)",
            )


def odd_squares(feature: str, size: str, remedy: str) -> DataError:
    return DataError(
        f"feature {feature} has numbers whose squares are too {size} for a double",
        hint=f"change its size in the query: {feature} {remedy}, or leave such rows out in WHERE",
    )
