"""The effect of each mapped column on the score, as a curve over the rows of the join."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sqlsvm.ask.describe import Histogram
from sqlsvm.engine.base import Values
from sqlsvm.model.model import Model
from sqlsvm.model.weights import Weight
from sqlsvm.report.chart import Chart, Line, Rule, linear, within
from sqlsvm.report.gather import Report
from sqlsvm.report.parts import Element, el, section, table
from sqlsvm.report.plots import classes, steps
from sqlsvm.report.svg import draw
from sqlsvm.terminal import amount

POINTS = 241  # of a curve
HEIGHT = 0.3  # the tallest bar of the density is so high, as a share of the chart


def effects_section(report: Report) -> Element | None:
    if not report.model.maps or report.model.family:
        return None
    drawn = [draw(chart) for chart in effect_charts(report)]
    said = (
        "The score adds up these curves, the intercept and the other columns. Each curve is 0 on average over the rows "
        "of the join; the bars at the bottom show where these rows are."
    )
    others = [each.map for each in report.model.maps if len(each.columns) > 1 or each.kind != "numeric"]
    more = f"No curve of one column: {', '.join(others)}." if others else None
    note = el("p", more, class_="aside") if more else None
    curves = [el("p", said), el("div", drawn, class_="figures-row")] if drawn else None
    return section("effects", "The effects of columns", curves, note)


def effect_charts(report: Report) -> Iterator[Chart]:
    """The columns whose effects differ most among the rows first."""
    found = [_Effect(report.model, name, spread) for name, spread in report.spread.items()]
    for place, one in enumerate(sorted(found, key=lambda one: -one.deviation)):
        yield _chart(report.model, place, one)


def effect(model: Model, column: str, x: Values) -> Values:
    """What a column adds to the score, by its own weight and by all maps of it alone."""
    weights = {w.feature: w.weight for w in model.weights if w.category is None}
    found = weights.get(column, 0.0) * x
    for each in model.maps:
        if each.columns == (column,):
            found = found + sum(weights[name] * values for name, values in each.values([x]).items())
    return np.asarray(found)


@dataclass(frozen=True)
class _Effect:
    """Less its mean over the rows."""

    model: Model
    column: str
    spread: Histogram

    @property
    def places(self) -> Values:
        return np.linspace(self.spread.edges[0], self.spread.edges[-1], POINTS)

    @property
    def curve(self) -> Values:
        return np.asarray(effect(self.model, self.column, self.places) - self._shares @ self._seen)

    @property
    def deviation(self) -> float:
        return float(np.sqrt(self._shares @ (self._seen - self._shares @ self._seen) ** 2))

    @property
    def _shares(self) -> Values:
        rows = np.array(self.spread.rows)
        return np.asarray(rows / rows.sum())

    @property
    def _seen(self) -> Values:
        """In the middle of each bar."""
        return effect(self.model, self.column, np.convolve(self.spread.edges, [0.5, 0.5], "valid"))


def _chart(model: Model, place: int, one: _Effect) -> Chart:
    curve, places, spread = one.curve, one.places, one.spread
    y = linear("effect on the score", [0.0, *curve.tolist()])
    bars = steps(spread.edges, spread.rows, base=y.low, height=HEIGHT * (y.high - y.low) / max(spread.rows))
    line = tuple(zip(places.tolist(), curve.tolist(), strict=True))
    maps = " and ".join(each.map for each in model.maps if each.columns == (one.column,))
    lowest, highest = (f"{curve[n]:.3g} at {places[n]:.4g}" for n in (curve.argmin(), curve.argmax()))
    return Chart(
        name=f"effect-{place}",
        title=one.column,
        said=f"{maps}. From {lowest} to {highest}; its deviation over the rows is {one.deviation:.3g}.",
        x=within(one.column, spread.edges[0], spread.edges[-1]),
        y=y,
        marks=(bars, Rule(0.0, ""), Line(line, "", "first")),
    )


TOP = 24  # how many weights are shown
SIDE = 12  # vectors of weights next to each other


def weights_section(report: Report) -> Element:
    model = report.model
    shown = model.weights.heaviest(TOP)
    largest = max((abs(w.scaled_weight) for w in shown), default=0.0) or 1.0
    titles = ("relation", "feature", "pull", "scaled", "weight")
    rows = [_weight_row(report, w, largest) for w in shown]
    left = len(model.weights) - len(shown)
    predicted, pulls = _meaning(model)
    said = (
        f"score = {model.constant:.6g} + the sum of weight times column; {predicted}. "
        "The scaled weight is for the scaled feature, and scaled features have the same size: the largest come first. "
        f"{pulls}"
    )
    zero = int(np.sum(model.weights.scaled == 0.0))
    left_out = f" {amount(zero)} of the {amount(len(model.weights))} weights are exactly 0." if zero else ""
    more = el("p", f"And {amount(left)} more, with smaller weights.", class_="aside") if left else None
    listed = table(titles, rows, words=3, class_="weights")
    return section("weights", "The weights", el("p", said, left_out), listed, more)


def _meaning(model: Model) -> tuple[str, str]:
    """What the score predicts, and what the bars say."""
    if model.of_numbers:
        bars = f"A filled bar to the right raises {model.label}, a hatched bar to the left lowers it."
        return f"it is the prediction of {model.label}", bars
    negative, positive = classes(model)
    bars = f"A filled bar to the right pulls towards {positive}, a hatched bar to the left towards {negative}."
    return f"above 0 the prediction is {positive}", bars


def _weight_row(report: Report, weight: Weight, largest: float) -> list[object]:
    feature: list[object] = [weight.feature]
    if weight.category is not None:
        feature += [" = ", el("em", str(weight.category))]
    numbers = (_signed(weight.scaled_weight), f"{weight.weight:.6g}".replace("-", "\u2212"))
    return [report.relation_of(weight.feature), feature, _bar(weight.scaled_weight / largest), *numbers]


def _bar(part: float) -> Element:
    half = 70.0
    length = abs(part) * (half - 2)
    bar = el(
        "rect",
        x=half - (length if part < 0 else 0.0),
        y=2,
        width=length,
        height=9,
        class_="area second" if part < 0 else "area first",
    )
    axis = el("path", d=f"M{half:g} 0V13", class_="tick")
    return el("svg", bar, axis, viewBox=f"0 0 {2 * half:g} 13", width=2 * half, height=13, aria_hidden="true")


def weights_of_each(report: Report) -> Element:
    """A row for each weight, with a column for each class and group; those that matter most for some come first."""
    model = report.model
    leaves = sorted(model.leaves, key=lambda leaf: -leaf[1].join_rows)[:SIDE] if model.groups else model.leaves
    scaled = [{(w.feature, w.category): w.scaled_weight for w in leaf.weights} for _, leaf in leaves]
    names = dict.fromkeys(name for each in scaled for name in each)
    order = sorted(names, key=lambda name: -max(abs(each.get(name, 0.0)) for each in scaled))[:TOP]
    said = "The score is the intercept + the sum of weight times column"
    if model.kinds:
        said = f"{said} of a class, and the prediction is the class with the largest score. Above 0 a feature is for it"
    said += ". These are the scaled weights: scaled features have the same size, so the largest come first."
    rows = [("", "(intercept)", *(_signed(leaf.scaled_intercept or 0.0) for _, leaf in leaves))]
    for feature, category in order:
        name = feature if category is None else f"{feature} = {category}"
        values = (_signed(each.get((feature, category), 0.0)) for each in scaled)
        rows.append((report.relation_of(feature), name, *values))
    titles = ("relation", "feature", *(": ".join(map(str, values)) for values, _ in leaves))
    left = [(len(names) - len(order), "weights, which are smaller"), (len(model.leaves) - len(leaves), "groups")]
    more = [el("p", f"And {amount(n)} more {what}.", class_="aside") for n, what in left if n]
    return section("weights", "The weights", el("p", said), table(titles, rows, words=2), more)


def _signed(value: float) -> str:
    return f"{value:.4f}".replace("-", "\u2212")
