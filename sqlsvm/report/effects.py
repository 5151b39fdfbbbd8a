"""The effect of each mapped column on the score, as a curve over the rows of the join."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sqlsvm.ask.describe import Histogram
from sqlsvm.engine.base import Values
from sqlsvm.model.model import Model
from sqlsvm.report.chart import Area, Chart, Line, Rule, linear, within
from sqlsvm.report.gather import Report
from sqlsvm.report.markup import Element, el
from sqlsvm.report.parts import section
from sqlsvm.report.svg import draw

POINTS = 241
"""Of a curve."""
HEIGHT = 0.3
"""The tallest bar of the density is so high, as a share of the chart."""


def effects_section(report: Report) -> Element | None:
    if not report.model.maps or report.model.classes:
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
    bars = _bars(spread, y.low, HEIGHT * (y.high - y.low) / max(spread.rows))
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


def _bars(spread: Histogram, base: float, factor: float) -> Area:
    tops = [(x, base + factor * n) for i, n in enumerate(spread.rows) for x in _ends(spread.edges, i)]
    return Area(tuple(tops), ((spread.edges[0], base), (spread.edges[-1], base)))


def _ends(edges: Sequence[float], i: int) -> tuple[float, float]:
    return edges[i], edges[i + 1]
