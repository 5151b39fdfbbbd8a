"""What auto has chosen, and the curve that it was chosen from."""

from collections.abc import Mapping, Sequence

from sqlsvm.measures import MEASURES
from sqlsvm.model.chosen import Chosen, Measured
from sqlsvm.report.chart import Area, Chart, Line, Mark, Points, Rule, linear, logarithmic
from sqlsvm.report.gather import Report
from sqlsvm.report.markup import Element, el
from sqlsvm.report.parts import section, table
from sqlsvm.show.models import chosen, cross_validated


def choice(report: Report) -> Chart | None:
    """The first loss, and the one that was chosen. The area is as wide as the error of the difference to that."""
    found = report.model.chosen
    if not found or len(first := _of(found, found.tried[0].loss)) < 2:
        return None
    own, name = _of(found, found.loss), _name(found)
    above, below = (tuple((t.strength, t.mean + way * t.error) for t in reversed(first)) for way in (1.0, -1.0))
    marks: list[Mark] = [Area(above, below, "one standard error of the difference to the chosen one")]
    marks.append(Line(_points(first), first[0].loss.replace("_", " "), "first", True))
    marks += [Line(_points(own), found.loss.replace("_", " "), "second", True)] if own != first else []
    marks.append(Rule(found.strength, "chosen", upright=True))
    strengths = [each.strength for each in found.tried]
    return Chart(
        name="choice",
        title=f"{name} on rows that were not seen",
        said=f"{name} of each {found.strength_of}, in {found.split}. Chosen is {found.strength:g}.",
        x=logarithmic(f"{found.strength_of} (log scale)", strengths),
        y=linear(name, [*(y for _, y in (*above, *below)), *(each.mean for each in own)]),
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
