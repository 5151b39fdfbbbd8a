"""The charts of several models of one training, by the option that differs: bounds, weights, measures."""

from collections.abc import Iterator, Sequence

from sqlsvm.measures import MEASURES
from sqlsvm.options import Option
from sqlsvm.report.chart import Area, Axis, Chart, Line, Mark, Points, linear, logarithmic
from sqlsvm.show.several import Trained


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
