"""The largest weights, each with a bar."""

import numpy as np

from sqlsvm.model.model import Model
from sqlsvm.model.weights import Weight
from sqlsvm.report.gather import Report
from sqlsvm.report.markup import Element, el
from sqlsvm.report.parts import scrolled, section
from sqlsvm.report.plots import classes
from sqlsvm.terminal import amount

TOP = 24
"""How many weights are shown."""


def weights_section(report: Report) -> Element:
    model = report.model
    shown = model.weights.heaviest(TOP)
    largest = max((abs(w.scaled_weight) for w in shown), default=0.0) or 1.0
    titles = ("relation", "feature", "pull", "scaled", "weight")
    head = el("tr", [el("th", t, scope="col", class_="number" if n > 2 else None) for n, t in enumerate(titles)])
    body = [_weight_row(report, w, largest) for w in shown]
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
    table = el("table", el("thead", head), el("tbody", body), class_="weights")
    return section("weights", "The weights", el("p", said, left_out), scrolled(table, "Weights"), more)


def _meaning(model: Model) -> tuple[str, str]:
    """What the score predicts, and what the bars say."""
    if model.of_numbers:
        bars = f"A filled bar to the right raises {model.label}, a hatched bar to the left lowers it."
        return f"it is the prediction of {model.label}", bars
    negative, positive = classes(model)
    bars = f"A filled bar to the right pulls towards {positive}, a hatched bar to the left towards {negative}."
    return f"above 0 the prediction is {positive}", bars


def _weight_row(report: Report, weight: Weight, largest: float) -> Element:
    feature: list[object] = [weight.feature]
    if weight.category is not None:
        feature += [" = ", el("em", str(weight.category))]
    numbers = (f"{weight.scaled_weight:.4f}", f"{weight.weight:.6g}")
    return el(
        "tr",
        el("td", report.relation_of(weight.feature)),
        el("td", feature),
        el("td", _bar(weight.scaled_weight / largest)),
        [el("td", text.replace("-", "\u2212"), class_="number") for text in numbers],
    )


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
