"""Design + moments -> Scaling: the linear map between the raw coordinates that SQL sees and the features trained on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from sqlsvm.errors import DataError, only_finite
from sqlsvm.options import Nulls, Scale
from sqlsvm.plan.design import Coordinate, Design
from sqlsvm.solve.arrays import Array, Indices


@dataclass(frozen=True)
class LabelMoments:
    """Of the code of a label that is a number: the sums of y and y^2 over the join."""

    total: float
    squares: float


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
    label: LabelMoments | None = None  # where the label is a number
    products: Mapping[tuple[int, int], float] = field(default_factory=dict)
    """For each pair of terms of one sum, the sum of x_i x_j."""
    of_codes: tuple[float, ...] = ()  # the rows of each code, where the label has more than two classes


@dataclass(frozen=True)
class Element:
    """beta[place] is the weight of a feature, and theta[index] that of its raw coordinate: of a sum, of its first term.
    A number has no category, and the intercept has no name."""

    place: int
    index: int
    feature: str
    category: object = None


@dataclass(frozen=True)
class Scaling:
    """The linear map between the features that are trained on and the raw coordinates.

    Feature j is (x_j - centre_j) / width_j, where a missing x_j is the mean of the others. With beta for features,
    theta = to_raw(beta) gives the same scores on raw coordinates; from_raw maps counted sums back. The terms of a sum
    share one row of the matrix, and so one weight.
    """

    design: Design
    matrix: Array  # T: features x coordinates, dense for numbers; categories pass through
    label: float | None = None  # the deviation of a label that is a number, if features are measured in theirs

    @cached_property
    def kept(self) -> Indices:
        """The coordinates that are features: all but the indicators of missing values and the later terms of a sum."""
        return np.array([c.index for c in _kept(self.design)], dtype=int)

    @cached_property
    def unkept(self) -> int:
        """How many coordinates of theta have no element in beta. The categories come after them."""
        return len(self.design.coordinates) - len(self.kept)

    @property
    def dimension(self) -> int:
        return self.design.size - self.unkept

    @cached_property
    def numbers(self) -> tuple[Element, ...]:
        """The first elements of beta, which are no categories."""
        return tuple(Element(place, c.index, c.feature) for place, c in enumerate(_kept(self.design)))

    def elements(self) -> Iterator[Element]:
        """What each element of beta is the weight of, in order."""
        yield from self.numbers
        for d in self.design.dictionaries:
            for index, category in enumerate(d.categories, d.offset):
                yield Element(index - self.unkept, index, d.feature, category)

    def scale(self, e: Element) -> tuple[float, float, float]:
        """Centre and width of a number, whose feature is (x - centre) / width; and the origin it is measured from."""
        row = self.matrix[e.place]
        constant = self.design.constant
        width = 1.0 / float(row[e.index])
        origin = self.design.origin(e.feature)
        return (0.0 if constant is None else origin - float(row[constant]) * width), width, origin

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


FLAT = 1e-10  # the variance, as a share of the mean square, of a feature whose deviation is 10^-5 of its size
CONSTANT = 1e-12  # what the subtraction leaves of the variance of a constant, as a share of the mean square


def _kept(design: Design) -> list[Coordinate]:
    firsts = {terms[0] for terms in design.numbers.values()}
    return [c for c in design.coordinates if c.role == "intercept" or c in firsts]


def means(design: Design, moments: Moments) -> dict[str, float]:
    """For each feature that is a number, the mean of the values that are not NULL."""
    return {name: _mean_of(design, moments, t) + design.origin(name) for name, t in design.numbers.items()}


def _mean_of(design: Design, moments: Moments, terms: Sequence[Coordinate]) -> float:
    return float(sum(_mean(design, moments, c)[0] for c in terms))


def _variance(design: Design, moments: Moments, terms: Sequence[Coordinate]) -> tuple[float, float]:
    """N times the variance of a sum of terms, and what it is subtracted from: of one term its squares. A constant has
    neither."""
    varied = [(c, *_mean(design, moments, c)) for c in terms if moments.squares[c.index]]
    squares = sum(moments.squares[c.index] for c, _, _ in varied)
    found = sum(moments.squares[c.index] - present * mean * mean for c, mean, present in varied)
    for (a, mean, _), (b, other, _) in combinations(varied, 2):
        found += 2.0 * (moments.products[a.index, b.index] - moments.n * mean * other)
    return found, squares


def cancelling(design: Design, moments: Moments) -> list[str]:
    """Sums that vary much less than their terms. That of constants is a constant."""
    sums = {name: _variance(design, moments, terms) for name, terms in design.numbers.items() if len(terms) > 1}
    return [name for name, (variance, squares) in sums.items() if squares and variance <= FLAT * squares]


def mean_of(design: Design, moments: Moments, c: Coordinate) -> float:
    """The mean of the values that are not NULL, less the origin."""
    return _mean(design, moments, c)[0]


def flat(design: Design, moments: Moments, share: float = FLAT) -> list[Coordinate]:
    """Features that are constant, or whose mean is much larger than their deviation."""

    def is_flat(c: Coordinate) -> bool:
        mean, present = _mean(design, moments, c)
        squares = moments.squares[c.index]
        return bool(squares > 0.0 and squares - present * mean * mean <= share * squares)

    return [c for c in design.coordinates if c.role == "value" and is_flat(c)]


def _mean(design: Design, moments: Moments, c: Coordinate) -> tuple[float, float]:
    """The mean of the values that are not NULL, and their number."""
    indicator = design.indicators.get(c.index)
    present = moments.n - (0.0 if indicator is None else moments.total[indicator])
    return moments.total[c.index] / present if present > 0 else 0.0, present


def scaling(design: Design, moments: Moments, how: Scale) -> Scaling:
    """T such that feature = T raw. Centring needs the constant, so without an intercept nothing is centred."""
    constant = design.constant
    kept = _kept(design)
    matrix = np.zeros((len(kept), len(design.coordinates)))
    for row, c in enumerate(kept):
        terms = design.numbers.get(c.feature, (c,))
        matrix[row, [term.index for term in terms]] = 1.0
        if c.role == "intercept":
            continue
        mean, (_, present) = _mean_of(design, moments, terms), _mean(design, moments, c)
        if len(terms) == 1 and c.index in design.indicators:  # of x less its origin; the model has that of x, a double
            matrix[row, design.indicators[c.index]] = (mean + c.origin) - c.origin
        if how != "standard" and constant is not None:
            matrix[row, constant] = sum(term.origin for term in terms)
        if how == "maxabs":
            matrix[row] /= max(moments.largest[c.index], abs(mean) if present < moments.n else 0.0) or 1.0
        if how == "standard":
            variance, squares = (value / moments.n for value in _variance(design, moments, terms))
            matrix[row] /= np.sqrt(variance) if variance > CONSTANT * squares else 1.0
            if constant is not None:
                matrix[row, constant] -= mean * matrix[row, c.index]
    return Scaling(design, matrix, deviation(moments) if how == "standard" else None)


def deviation(moments: Moments) -> float | None:
    if moments.label is None:
        return None
    squares = moments.label.squares / moments.n
    variance = squares - (moments.label.total / moments.n) ** 2
    return float(np.sqrt(variance)) if variance > CONSTANT * squares else None


def check_values(design: Design, moments: Moments, nulls: Nulls) -> None:
    """Refuse NaN, infinity, and a NULL if the options do not say how to treat it."""
    if odd := [c.feature for c in design.coordinates if c.feature and not np.isfinite(moments.total[c.index])]:
        first, *others = dict.fromkeys(odd)
        said = f"feature {first} is NaN or infinite in some rows of the join"
        raise DataError(said, detail=" ".join(f"So is {name}." for name in others) or None, hint=only_finite(first))
    for c in design.coordinates:
        if np.isinf(moments.squares[c.index]):  # NaN if they were not measured
            raise odd_squares(c.feature, "large", "/ 1e100")
        if c.role == "missing" and moments.total[c.index] > 0:
            # where one term of a sum is NULL the sum is, so no mean of that term alone could replace it
            several = len(design.numbers[c.feature]) > 1
            if nulls == "error" or several:
                raise null_feature(c.feature, c.relation, moments.total[c.index], several=several)


def null_feature(name: str, relation: str, rows: float, *, several: bool) -> DataError:
    """`several`: the feature adds up terms, and that over the relation is NULL."""
    return DataError(
        f"feature {name} is NULL in {rows:,.0f} rows of the join",
        detail=f"there its term over {relation} is NULL" if several else None,
        hint="say what that means: ⟦nulls drop⟧ (leave the row out), or COALESCE in that term"
        if several
        else "say what that means: ⟦nulls mean⟧ (the mean of the others) or ⟦nulls drop⟧ (leave the row out)",
    )


def odd_squares(feature: str, size: str, remedy: str) -> DataError:
    said = f"feature {feature} has numbers whose squares are too {size} for a double"
    return DataError(said, hint=f"change its size in the query: {feature} {remedy}, or leave such rows out in WHERE")
