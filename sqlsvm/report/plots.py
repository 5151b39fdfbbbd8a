"""The charts of a report: convergence, gap, scores of both classes, ROC curve, residuals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite

from sqlsvm.measures import MEASURES
from sqlsvm.model.chosen import Chosen, Measured
from sqlsvm.model.evaluation import Bounded, Evaluation, Histogram, Probabilities, Residuals, RocPoint
from sqlsvm.model.model import Model
from sqlsvm.options import Option
from sqlsvm.report.chart import (
    Area,
    Axis,
    Chart,
    Dot,
    Line,
    Mark,
    Points,
    Rule,
    Style,
    counted,
    linear,
    logarithmic,
    within,
)
from sqlsvm.report.gather import Report
from sqlsvm.report.parts import Element, el, section, table
from sqlsvm.show.models import chosen, cross_validated
from sqlsvm.show.several import Trained
from sqlsvm.terminal import row_count

STYLES: tuple[Style, ...] = "first", "second", "aside"


def choice(report: Report) -> Chart | None:
    """The first loss, the one that was chosen, and the others. The area is as wide as the error of the difference to
    the chosen one."""
    found = report.model.chosen
    if not found or len(first := _of(found, found.tried[0].loss)) < 2:
        return None
    name, losses = _name(found), dict.fromkeys((first[0].loss, found.loss, *(each.loss for each in found.tried)))
    above, below = (tuple((t.strength, t.mean + way * t.error) for t in reversed(first)) for way in (1.0, -1.0))
    marks: list[Mark] = [Area(above, below, "one standard error of the difference to the chosen one")]
    curves = ((_points(_of(found, loss)), loss.replace("_", " ")) for loss in losses)
    marks += [Line(*curve, style, True) for curve, style in zip(curves, STYLES, strict=False)]
    marks.append(Rule(found.strength, "chosen", upright=True))
    strengths = [each.strength for each in found.tried]
    return Chart(
        name="choice",
        title=f"{name} on rows that were not seen",
        said=f"{name} of each {found.strength_of}, in {found.split}. Chosen is {found.strength:g}.",
        x=logarithmic(f"{found.strength_of} (log scale)", strengths),
        y=linear(name, [*(y for _, y in (*above, *below)), *(each.mean for each in found.tried)]),
        marks=tuple(marks),
    )


def choice_section(report: Report, drawn: Mapping[str, Element]) -> Element | None:
    found = report.model.chosen
    if not found:
        return None
    each = "; ".join([*chosen(report.model), *cross_validated(report.model)])
    said = (
        f"Chosen by {_name(found)}: {each}. It is the strongest penalty whose difference to the best "
        "is at most one standard error."
    )
    rows = [(t.loss.replace("_", " "), f"{t.strength:g}", f"{t.mean:.6g}", f"{t.error:.2g}") for t in found.tried]
    titles = "loss", found.strength_of, _name(found), "error of the difference"
    numbers = el("details", el("summary", "The numbers of every candidate"), table(titles, rows, words=1))
    return section("choice", "What was chosen", el("p", said), el("div", drawn.get("choice"), numbers, class_="beside"))


def _of(found: Chosen, loss: str) -> list[Measured]:
    return [each for each in found.tried if each.loss == loss]


def _points(each: Sequence[Measured]) -> Points:
    return tuple((one.strength, one.mean) for one in reversed(each))


def _name(found: Chosen) -> str:
    return MEASURES[found.measure].title


BARS = 60
OUTSIDE = 0.001
"""The share of rows that may lie beyond each end of the chart of scores, so that far rows do not shrink the rest."""
CLOSE = 0.004  # points of a curve that are closer than this share of the chart are left out


def charts(report: Report) -> dict[str, Chart]:
    """All charts that there is data for, by name."""
    made = {name: make(report) for name, make in PLOTS.items()}
    return {name: chart for name, chart in made.items() if chart}


# -- convergence -------------------------------------------------------------------------------------------------------


def convergence(report: Report) -> Chart | None:
    model = report.model
    lower, upper, least = (_history(model, name) for name in ("lower_bound", "objective_upper", "objective"))
    if not upper:
        return None
    between = [x for x, _ in lower]
    marks: list[Mark] = [Area(tuple(p for p in upper if p[0] in between), lower, "where the optimum lies")]
    if least != upper:
        marks.append(Area(upper, least, "what rounding leaves open", "first"))
    marks += [Line(upper, f"objective of the best model so far{_only(upper)}", "first", True)]
    marks += [Line(lower, "lower bound: no linear model is below", "second", True)] if lower else []
    return Chart(
        name="convergence",
        title="Objective between its bounds",
        said=_convergence_said(model),
        x=counted("pass over the tables", len(model.history)),
        y=linear("objective", [y for _, y in (*lower, *upper, *least)]),
        marks=tuple(marks),
    )


def _convergence_said(model: Model) -> str:
    first = model.history[0]
    start = f"After the first pass the best objective was {first['objective_upper']:.6g}"
    known = f" and nothing below {first['lower_bound']:.6g} was possible" if isfinite(first["lower_bound"]) else ""
    return f"{start}{known}; at the end {model.objective_upper:.6g} and {model.lower_bound:.6g}."


def gap(report: Report) -> Chart | None:
    model = report.model
    gaps = tuple((x, y) for x, y in _history(model, "gap") if y > 0)
    if not gaps:
        return None
    tol = tolerance(model)
    marks: list[Mark] = [Line(gaps, "gap" + _only(gaps) if len(gaps) == 1 else "", "first", True)]
    marks += [Rule(tol, f"asked for: {tol:g}")] if tol else []
    last = "the gap is closed" if not model.gap > 0 else f"the gap is {model.gap:.2g}"
    return Chart(
        name="gap",
        title="Gap",
        said=f"How far the best model can be from the optimum, as a share of its objective. At the end {last}.",
        x=counted("pass over the tables", len(model.history)),
        y=logarithmic("gap (log scale)", [y for _, y in gaps] + [tol or gaps[-1][1]]),
        marks=tuple(marks),
    )


def _only(points: Points) -> str:
    """What is said of a line that is one dot."""
    return " (after the only pass)" if len(points) == 1 else ""


def tolerance(model: Model) -> float | None:
    found = model.options.get("effort", model.options).get("tol")
    return float(found) if found is not None and float(found) > 0 else None


def _history(model: Model, name: str) -> Points:
    """The known values, pass by pass."""
    values = ((float(n), float(record.get(name, "nan"))) for n, record in enumerate(model.history, 1))
    return tuple((n, v) for n, v in values if isfinite(v))


# -- scores ------------------------------------------------------------------------------------------------------------


def scores(report: Report) -> Chart | None:
    found = report.evaluation
    if not isinstance(found, Evaluation) or len(found.histogram.edges) < 2:
        return None
    shown, outside = fewer_bars(found.histogram)
    rows = (row_count(n, report.model.weighted) for n in (found.negatives, found.positives))
    names = [f"{name}, {n}" for name, n in zip(classes(report.model), rows, strict=True)]
    areas = (
        steps(shown.edges, shown.negative, names[0], "second"),
        steps(shown.edges, shown.positive, names[1], "first"),
    )
    said = f"each class adds up to 100 %. Above 0 the prediction is {classes(report.model)[1]}."
    said = f"Bars are {shown.width:.2g} wide; {said}"
    said += f" The scores of {100 * outside:.1g} % of the rows are outside the chart." if outside > 0 else ""
    above = f"predicted {report.model.trained_on.label_values[1]} \u2192"
    return bars("scores", "Scores of both classes", said, ("score", "share of the class"), areas, above)


def bars(name: str, title: str, said: str, labels: tuple[str, str], areas: tuple[Area, ...], above: str = "") -> Chart:
    """`above`: what those above 0 are."""
    edges = [x for x, _ in areas[0].upper]
    x, heights = within(labels[0], edges[0], edges[-1]), [y for area in areas for _, y in area.upper]
    here = (Rule(0.0, above, upright=True),) if above and x.low < 0 < x.high else ()
    return Chart(name, title, said, x, linear(labels[1], [0.0, *heights], percent=True), (*areas, *here))


def classes(model: Model) -> tuple[str, str]:
    """The label with its negative and its positive value."""
    negative, positive = (f"{model.label} = {value}" for value in model.trained_on.label_values)
    return negative, positive


def fewer_bars(histogram: Histogram, most: int = BARS) -> tuple[Histogram, float]:
    """At most `most` bars, each of a whole number of bins, without the far ends; and the share of rows in the ends."""
    rows = [a + b for a, b in zip(histogram.negative, histogram.positive, strict=True)]
    whole = sum(rows)
    first, last = _end(rows, OUTSIDE * whole), len(rows) - _end(rows[::-1], OUTSIDE * whole)
    each = -(-(last - first) // most)
    first = max(0, min(first, len(rows) - each * -(-(last - first) // each)))
    starts = range(first, last, each)
    edges = (*(histogram.edges[i] for i in starts), histogram.edges[starts[-1]] + each * histogram.width)
    negative, positive = (
        tuple(sum(side[i : i + each]) for i in starts) for side in (histogram.negative, histogram.positive)
    )
    return Histogram(edges, negative, positive), max(0.0, 1 - sum((*negative, *positive)) / whole) if whole else 0.0


def _end(rows: Sequence[float], much: float) -> int:
    """How many bins at the beginning have at most `much` rows together."""
    seen = 0.0
    for place, n in enumerate(rows):
        seen += n
        if seen > much:
            return place
    return 0


def steps(
    edges: Sequence[float],
    rows: Sequence[float],
    name: str = "",
    style: Style = "aside",
    base: float = 0.0,
    height: float | None = None,
) -> Area:
    """Bars on a base: as high as their shares of the rows, or so high for each row."""
    each = height or 1.0 / (sum(rows) or 1.0)
    tops = [(x, base + each * n) for i, n in enumerate(rows) for x in (edges[i], edges[i + 1])]
    return Area(tuple(tops), ((edges[0], base), (edges[-1], base)), name, style)


# -- ROC ---------------------------------------------------------------------------------------------------------------


def roc(report: Report) -> Chart | None:
    found = report.evaluation
    if not isinstance(found, Evaluation) or not found.roc or not found.auc:
        return None
    points = _apart(found.roc)
    best = tuple((p.false_positive_rate.lower, p.true_positive_rate.upper) for p in points)
    worst = tuple((p.false_positive_rate.upper, p.true_positive_rate.lower) for p in points)
    curve = tuple((p.false_positive_rate.value, p.true_positive_rate.value) for p in points)
    here = found.false_positive.value / found.negatives, found.recall.value
    marks: list[Mark] = [Line(((0.0, 0.0), (1.0, 1.0)), "by chance", "aside")]
    marks += [Area(best, worst, "what rounding leaves open")] if found.blur else []
    marks += [Line(curve, "the model at every threshold", "first"), Dot(*here, "threshold 0")]
    return Chart(
        name="roc",
        title="ROC curve",
        said=f"The area under the curve is {_auc(found.auc)}; 0.5 is chance, 1 separates the classes without error.",
        x=linear("false positive rate", [0.0, 1.0], percent=True),
        y=linear("true positive rate", [0.0, 1.0], percent=True),
        marks=tuple(marks),
        square=True,
    )


def _apart(points: Sequence[RocPoint]) -> list[RocPoint]:
    """Without points that are too close to the one before."""
    kept = [points[0]]
    for point in points[1:]:
        false, true = point.false_positive_rate.value, point.true_positive_rate.value
        if max(false - kept[-1].false_positive_rate.value, true - kept[-1].true_positive_rate.value) >= CLOSE:
            kept.append(point)
    return [*kept, points[-1]]


def _auc(found: Bounded) -> str:
    bounds = "" if found.exact else f", between {found.lower:.4f} and {found.upper:.4f}"
    return f"{found.value:.4f}{bounds}"


# -- probabilities -----------------------------------------------------------------------------------------------------


def reliability(report: Report) -> Chart | None:
    found = report.evaluation
    if not isinstance(found, Evaluation) or not (found.probabilities and found.probabilities.groups):
        return None
    brier, loss = found.probabilities.brier.value, found.probabilities.log_loss.value
    lines = [Line(_groups(found.probabilities), "rows held out, which they were fitted to", "first", True)]
    if isinstance(report.seen, Evaluation) and report.seen.probabilities:
        lines.append(Line(_groups(report.seen.probabilities), "rows of the training", "second", True))
    return Chart(
        name="reliability",
        title="Reliability",
        said=f"Rows of about the same probability, and the share of them with {classes(report.model)[1]}. On the rows "
        f"held out the Brier score is {brier:.4f} and the log loss {loss:.4f}.",
        x=linear("mean probability", [0.0, 1.0], percent=True),
        y=linear("share of the rows", [0.0, 1.0], percent=True),
        marks=(Line(((0.0, 0.0), (1.0, 1.0)), "as they should be", "aside"), *lines),
        square=True,
    )


def _groups(found: Probabilities) -> Points:
    return tuple((group.predicted, group.positive) for group in found.groups)


# -- residuals ---------------------------------------------------------------------------------------------------------


def residuals(report: Report) -> Chart | None:
    found = report.evaluation
    if not isinstance(found, Residuals) or len(found.edges) < 2:
        return None
    shown, outside = fewer_bars(Histogram(found.edges, found.counts, (0.0,) * len(found.counts)))
    said = f"Bars are {shown.width:.2g} wide. Right of 0 the label is above the score."
    said += f" {100 * outside:.1g} % of the rows are outside the chart." if outside > 0 else ""
    labels = f"{report.model.label} \u2212 score", "share of the rows"
    area = steps(shown.edges, shown.negative, "", "first")
    return bars("residuals", "Residuals", said, labels, (area,), "label above the score \u2192")


PLOTS: dict[str, Callable[[Report], Chart | None]] = {
    "choice": choice,
    "convergence": convergence,
    "gap": gap,
    "scores": scores,
    "roc": roc,
    "reliability": reliability,
    "residuals": residuals,
}


def path_charts(found: Sequence[Trained], option: Option) -> dict[str, Chart]:
    """By name, for the values that a logarithmic axis has."""
    shown = sorted((t for t in found if t.value > 0), key=lambda t: t.value)
    if len(shown) < 2:
        return {}
    return {
        chart.name: chart
        for chart in _charts(shown, logarithmic(f"{option.said} (log scale)", [t.value for t in shown]))
    }


def _charts(found: Sequence[Trained], x: Axis) -> Iterator[Chart]:
    upper = tuple((t.value, t.model.objective_upper) for t in found)
    lower = tuple((t.value, t.model.lower_bound) for t in found)
    said = "The objective of each model, and the lower bound that is proven for it."
    marks = Line(upper, "objective", "first", True), Line(lower, "lower bound", "second", True)
    yield Chart("path", "Objective between its bounds", said, x, _axis("objective", *upper, *lower), marks)
    weights = tuple((t.value, float(t.model.used)) for t in found)
    said = "How many weights of each model are not 0."
    yield Chart(
        "path_weights", "Weights", said, x, _axis("weights", (1.0, 0.0), *weights), (Line(weights, "", "first", True),)
    )
    for name in found[0].holdout or {}:
        yield _measure(name, found, x)


def _measure(name: str, found: Sequence[Trained], x: Axis) -> Chart:
    """With one standard error, if there were folds."""
    points = tuple((t.value, (t.holdout or {})[name]) for t in found)
    known = [t.model.validation.get(name) for t in found]
    errors = [(each.standard_error if each else None) or 0.0 for each in known]
    above, below = (_moved(points, [way * e for e in errors]) for way in (1.0, -1.0))
    marks: list[Mark] = [Area(above, below, "one standard error")] if any(errors) else []
    title = MEASURES[name].title
    said = f"{title} on rows that the training has not seen."
    marks.append(Line(points, "", "first", True))
    return Chart(f"path_{name}", title, said, x, _axis(title, *above, *below), tuple(marks))


def _moved(points: Points, by: Sequence[float]) -> Points:
    return tuple((x, y + d) for (x, y), d in zip(points, by, strict=True))


def _axis(label: str, *points: tuple[float, float]) -> Axis:
    return linear(label, [y for _, y in points])
