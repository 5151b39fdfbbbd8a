"""The result of an evaluation: counts with their bounds, and the measures that follow from them."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from typing import Any, ClassVar

from sqlsvm.measures import NUMBER, TWO, Label, of_scores
from sqlsvm.solve.interval import Interval

CELLS = "true_negative", "false_positive", "false_negative", "true_positive"


@dataclass(frozen=True)
class Named:
    """The names for a table of what was measured."""

    label: str = "label"
    values: tuple[object, ...] = (-1, 1)  # the values of the label, the negative one first
    weighted: bool = False


@dataclass(frozen=True)
class Bounded:
    """A number with a lower and an upper bound."""

    value: float
    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        return self.lower == self.upper


@dataclass(frozen=True)
class Histogram:
    """Rows per bin and label. Bin i goes from edges[i] to edges[i + 1]; only the last one includes its end."""

    edges: tuple[float, ...]
    negative: tuple[float, ...]
    positive: tuple[float, ...]

    @property
    def width(self) -> float:
        return self.edges[1] - self.edges[0]


@dataclass(frozen=True)
class RocPoint:
    """The share of each class whose score is at or above a threshold."""

    threshold: float
    false_positive_rate: Bounded
    true_positive_rate: Bounded


@dataclass(frozen=True)
class Fairness:
    """How far scores go with a column."""

    column: str
    limit: float  # what the covariance may be at most, as it was asked for
    covariance: float
    rates: tuple[float, float] | None = None
    """Of a column that is true or false: the shares predicted +1 where it is false, and where it is true."""

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"column": self.column, "limit": self.limit, "covariance": self.covariance}
        return found | ({"positive_rate": dict(zip(("false", "true"), self.rates, strict=True))} if self.rates else {})


@dataclass(frozen=True)
class Group:
    """Rows with about the same probability."""

    rows: float
    predicted: float  # the mean of their probabilities
    positive: float  # the share of them that is positive


@dataclass(frozen=True)
class Probabilities:
    """How good the probabilities of a model are."""

    brier: Bounded  # the mean of (1 - p)^2 over the positive rows and p^2 over the others
    log_loss: Bounded
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Clusters:
    """The rows of the label's relation that are in the join."""

    rows: float
    effective: float
    """So many independent rows would give the accuracy as exactly, or the mean absolute error of a number."""


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What was measured on rows that may be a sample of the rows of the label's relation."""

    intervals: Mapping[str, Interval] = field(default_factory=dict)  # of the rows held out, by the name of the measure
    clusters: Clusters | None = None
    no_intervals: str = ""  # why there are none of the rows held out, or not of all measures
    of: Named = field(default=Named(), compare=False, repr=False)

    def intervals_as_json(self) -> dict[str, Any]:
        why = {"no_intervals": self.no_intervals} if self.no_intervals else {}
        if self.clusters is None:
            return why
        named = {name: asdict(each) for name, each in self.intervals.items()}
        return {"intervals": named, "clusters": asdict(self.clusters), **why}


@dataclass(frozen=True)
class Evaluation(Sampled):
    kind: ClassVar[Label] = TWO
    negatives: float
    positives: float
    true_positive: Bounded
    false_positive: Bounded
    auc: Bounded | None  # None if one of the classes has no rows
    histogram: Histogram
    blur: float  # the largest error of a score in the histogram; 0 if scores are exact
    probabilities: Probabilities | None = None  # None if the model has none, or there are no rows
    fairness: tuple[Fairness, ...] = ()
    sample: int | None = None  # how many join rows were drawn and measured; None if all of them were

    @property
    def true_negative(self) -> Bounded:
        return _rest(self.negatives, self.false_positive)

    @property
    def false_negative(self) -> Bounded:
        return _rest(self.positives, self.true_positive)

    # Each rate grows with tp and falls with fp, so its bounds are those of tp and the opposite ones of fp.

    @property
    def rows(self) -> float:
        return self.negatives + self.positives

    @property
    def accuracy(self) -> Bounded:
        return self._rate(lambda tp, fp: _ratio(tp + self.negatives - fp, self.negatives + self.positives))

    @property
    def precision(self) -> Bounded:
        """0 if no row is predicted positive."""
        return self._rate(lambda tp, fp: _ratio(tp, tp + fp))

    @property
    def recall(self) -> Bounded:
        return self._rate(lambda tp, fp: _ratio(tp, self.positives))

    @property
    def f1(self) -> Bounded:
        return self._rate(lambda tp, fp: _ratio(2 * tp, self.positives + tp + fp))

    @property
    def balanced_accuracy(self) -> Bounded:
        """The mean over the classes that have rows."""
        classes = (self.positives > 0) + (self.negatives > 0)
        return self._rate(
            lambda tp, fp: _ratio(_ratio(tp, self.positives) + _ratio(self.negatives - fp, self.negatives), classes)
        )

    @property
    def brier(self) -> Bounded | None:
        return self.probabilities.brier if self.probabilities else None

    @property
    def log_loss(self) -> Bounded | None:
        return self.probabilities.log_loss if self.probabilities else None

    @property
    def roc(self) -> tuple[RocPoint, ...]:
        """The curve at every edge of the histogram, from (0, 0) to (1, 1); empty if a class has no rows, and of groups.

        A score may be wrong by `blur`: rows surely above t are in the bins that begin at t + blur or later, and rows
        possibly above it are in all bins but those that end before t - blur."""
        if not (self.negatives > 0 and self.positives > 0 and self.histogram.edges):
            return ()
        edges, thresholds = self.histogram.edges, reversed(self.histogram.edges)
        rates = [_shares_above(rows) for rows in (self.histogram.negative, self.histogram.positive)]

        def rate(above: Sequence[float], t: float) -> Bounded:
            surely, maybe = bisect_left(edges, t + self.blur), max(bisect_right(edges, t - self.blur) - 1, 0)
            return Bounded(above[bisect_left(edges, t)], above[min(surely, len(above) - 1)], above[maybe])

        return tuple(RocPoint(t, rate(rates[0], t), rate(rates[1], t)) for t in thresholds)

    @property
    def exact(self) -> bool:
        return not self.sample and all(measure.exact for measure in self._measures().values() if measure)

    def as_json(self) -> dict[str, Any]:
        """Plain numbers; `bounds` has [lower, upper] for those that are not exact."""
        measures = self._measures()
        found: dict[str, Any] = {"exact": self.exact, "label_rows": {"-1": self.negatives, "1": self.positives}}
        found |= {name: measure and measure.value for name, measure in measures.items()}
        found["bounds"] = {n: [m.lower, m.upper] for n, m in measures.items() if m and not m.exact}
        found["histogram"] = {**asdict(self.histogram), "blur": self.blur}
        if self.probabilities:
            found["reliability"] = [asdict(group) for group in self.probabilities.groups]
        if self.sample:
            found["sample"] = self.sample
        return found | self.intervals_as_json() | _fairness(self.fairness)

    def _measures(self) -> dict[str, Bounded | None]:
        names = of_scores(TWO, probabilities=self.probabilities is not None)
        return {name: getattr(self, name) for name in (*CELLS, *names)}

    def _rate(self, rate: Callable[[float, float], float]) -> Bounded:
        tp, fp = self.true_positive, self.false_positive
        return Bounded(rate(tp.value, fp.value), rate(tp.lower, fp.upper), rate(tp.upper, fp.lower))


@dataclass(frozen=True)
class Residuals(Sampled):
    """How far the scores of a model are from a label that is a number. All of it is exact if `blur` is 0."""

    kind: ClassVar[Label] = NUMBER
    rows: float
    mae: float
    rmse: float
    r2: float | None  # None if the label is the same in all rows
    pinball: float
    """The mean of q z above 0 and of (q - 1) z below, for the residuals z = label - score; q is `quantile`."""
    quantile: float  # that of the training, if it was for one; else one half
    coverage: float  # the share of the rows whose label is at most the score
    edges: tuple[float, ...]
    counts: tuple[float, ...]  # the rows in each bin of the histogram of the residuals
    blur: float = 0.0  # the largest error of a residual; so `mae` and `rmse` are off by no more
    fairness: tuple[Fairness, ...] = ()

    def as_json(self) -> dict[str, Any]:
        apart = ("edges", "counts", "fairness", "intervals", "clusters", "no_intervals", "of")
        found = {name: value for name, value in vars(self).items() if name not in apart}
        found |= {"exact": not self.blur, "histogram": {"edges": list(self.edges), "rows": list(self.counts)}}
        return found | self.intervals_as_json() | _fairness(self.fairness)


def _fairness(found: Sequence[Fairness]) -> dict[str, Any]:
    return {"fairness": [column.as_json() for column in found]} if found else {}


def _shares_above(rows: Sequence[float]) -> list[float]:
    """For every edge i, the share of the rows in bin i or later."""
    above = [*reversed(list(accumulate(reversed(rows)))), 0.0]
    return [n / above[0] for n in above]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _rest(whole: float, part: Bounded) -> Bounded:
    return Bounded(whole - part.value, whole - part.upper, whole - part.lower)
