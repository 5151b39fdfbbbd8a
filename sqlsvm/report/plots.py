"""The charts of a report: what converged, and how the scores of both classes lie."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from sqlsvm.model.evaluation import Evaluation, Histogram, RocPoint
from sqlsvm.model.model import Model
from sqlsvm.report.chart import Area, Chart, Dot, Line, Mark, Points, Rule, counted, linear, logarithmic, within
from sqlsvm.report.gather import Report
from sqlsvm.terminal import row_count

BARS = 60
OUTSIDE = 0.001
"""The share of rows that may lie beyond each end of the picture of the scores: a few far ones would flatten it."""
CLOSE = 0.004
"""Points of a curve are drawn where they are so far apart, as a share of the picture."""


def charts(report: Report) -> dict[str, Chart]:
    """Those that there are numbers for, by name."""
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
    marks += [Line(upper, "objective of the best model so far", "first", True)]
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
    marks: list[Mark] = [Line(gaps, "", "first", True)]
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


def tolerance(model: Model) -> float | None:
    found = model.options.get("effort", model.options).get("tol")
    return float(found) if found is not None and float(found) > 0 else None


def _history(model: Model, name: str) -> Points:
    """What is known of it, pass by pass."""
    values = ((float(n), _value(record, name)) for n, record in enumerate(model.history, 1))
    return tuple((n, v) for n, v in values if isfinite(v))


def _value(record: Mapping[str, Any], name: str) -> float:
    return float(record.get(name, "nan"))


# -- scores ------------------------------------------------------------------------------------------------------------


def scores(report: Report) -> Chart | None:
    found = report.evaluation
    if not found or len(found.histogram.edges) < 2:
        return None
    shown, outside = fewer_bars(found.histogram, BARS)
    negative, positive = (_shares(rows) for rows in (shown.negative, shown.positive))
    rows = (row_count(n, report.model.weighted) for n in _class_rows(found))
    names = [f"{name}, {n}" for name, n in zip(classes(report.model), rows, strict=True)]
    x = within("score", shown.edges[0], shown.edges[-1])
    marks: list[Mark] = [
        _steps(shown.edges, negative, names[0], "second"),
        _steps(shown.edges, positive, names[1], "first"),
    ]
    if x.low < 0 < x.high:
        marks.append(Rule(0.0, f"predicted {report.model.trained_on.label_values[1]} \u2192", upright=True))
    return Chart(
        "scores",
        "Scores of both classes",
        _scores_said(report.model, shown, outside),
        x,
        _share_axis(marks),
        tuple(marks),
    )


def _share_axis(marks: Sequence[Mark]) -> Any:
    heights = [y for mark in marks if isinstance(mark, Area) for _, y in mark.upper]
    return linear("share of the class", [0.0, *heights], percent=True)


def _scores_said(model: Model, shown: Histogram, outside: float) -> str:
    width = shown.edges[1] - shown.edges[0]
    said = f"Bars are {width:.2g} wide; each class adds up to 100 %. Above 0 the prediction is {classes(model)[1]}."
    return f"{said} {100 * outside:.1g} % of the rows score beyond the picture." if outside > 0 else said


def classes(model: Model) -> tuple[str, str]:
    """The label with each of its values."""
    negative, positive = (f"{model.label} = {value}" for value in model.trained_on.label_values)
    return negative, positive


def fewer_bars(histogram: Histogram, most: int) -> tuple[Histogram, float]:
    """At most so many bars, each of a whole number of bins, over all but the far ends; what share the ends have."""
    rows = [a + b for a, b in zip(histogram.negative, histogram.positive, strict=True)]
    whole = sum(rows)
    first, last = _end(rows, OUTSIDE * whole), len(rows) - _end(rows[::-1], OUTSIDE * whole)
    each = -(-(last - first) // most)
    first = max(0, min(first, len(rows) - each * -(-(last - first) // each)))
    starts = range(first, last, each)
    width = histogram.edges[1] - histogram.edges[0]
    edges = (*(histogram.edges[i] for i in starts), histogram.edges[starts[-1]] + each * width)
    negative, positive = (
        tuple(sum(side[i : i + each]) for i in starts) for side in (histogram.negative, histogram.positive)
    )
    return Histogram(edges, negative, positive), max(0.0, 1 - sum((*negative, *positive)) / whole) if whole else 0.0


def _end(rows: Sequence[float], much: float) -> int:
    """How many bins at the beginning hold no more than that together."""
    seen = 0.0
    for place, n in enumerate(rows):
        seen += n
        if seen > much:
            return place
    return 0


def _shares(rows: Sequence[float]) -> list[float]:
    whole = sum(rows)
    return [n / whole if whole else 0.0 for n in rows]


def _steps(edges: Sequence[float], heights: Sequence[float], name: str, style: Any) -> Area:
    tops = [(x, y) for i, y in enumerate(heights) for x in (edges[i], edges[i + 1])]
    return Area(tuple(tops), ((edges[0], 0.0), (edges[-1], 0.0)), name, style)


def _class_rows(found: Evaluation) -> tuple[float, float]:
    return found.negatives, found.positives


# -- ROC ---------------------------------------------------------------------------------------------------------------


def roc(report: Report) -> Chart | None:
    found = report.evaluation
    if not found or not found.roc or not found.auc:
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
        said=f"The area under the curve is {_auc(found)}; 0.5 is chance, 1 tells the classes apart without a mistake.",
        x=linear("false positive rate", [0.0, 1.0], percent=True),
        y=linear("true positive rate", [0.0, 1.0], percent=True),
        marks=tuple(marks),
        square=True,
    )


def _apart(points: Sequence[RocPoint]) -> list[RocPoint]:
    """Without those that nobody could tell from the one before."""
    kept = [points[0]]
    for point in points[1:]:
        if max(_steps_between(kept[-1], point)) >= CLOSE:
            kept.append(point)
    return [*kept, points[-1]]


def _steps_between(a: RocPoint, b: RocPoint) -> tuple[float, float]:
    return (
        b.false_positive_rate.value - a.false_positive_rate.value,
        b.true_positive_rate.value - a.true_positive_rate.value,
    )


def _auc(found: Evaluation) -> str:
    assert found.auc
    if found.auc.exact:
        return f"{found.auc.value:.4f}"
    return f"{found.auc.value:.4f}, between {found.auc.lower:.4f} and {found.auc.upper:.4f}"


PLOTS: dict[str, Callable[[Report], Chart | None]] = {
    "convergence": convergence,
    "gap": gap,
    "scores": scores,
    "roc": roc,
}
