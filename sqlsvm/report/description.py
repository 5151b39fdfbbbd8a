"""A Description as a page: the columns, their histograms, how they go with each other."""

from collections.abc import Iterator
from datetime import datetime
from math import isnan

from sqlsvm.ask.describe import ColumnFacts, Description
from sqlsvm.compile.columns import QUANTILES
from sqlsvm.report.chart import Chart, Line, counted, linear
from sqlsvm.report.parts import Element, document, el, opening, scrolled, section, table
from sqlsvm.report.plots import bars, steps
from sqlsvm.report.svg import draw
from sqlsvm.run.components import Components
from sqlsvm.show.description import category_rows, figure, loadings, notes, number_row, proof, size
from sqlsvm.terminal import amount, memory, share, weight


def html(found: Description, made: datetime) -> str:
    title, claim = "The columns of a join", "All figures are exact. The join was never made."
    header = opening(title, "What is in the join", claim, _figures(found))
    return document(title, made, header, _notes(found), _numbers(found), _categories(found), _matrix(found))


def _figures(found: Description) -> Iterator[tuple[str, str]]:
    if found.weighted:
        yield "total weight of the rows", weight(found.rows)
    else:
        yield "rows of the join", amount(found.rows)
        yield "as one table", f"about {memory(8 * len(found.features) * found.rows)}"
    yield "columns", f"{len(found.features)}"
    if found.label:
        yield "label", found.label


def _notes(found: Description) -> Element | None:
    lines = [el("li", line) for line in notes(found)]
    return section("notes", "Notes", el("ul", lines, class_="notes")) if lines else None


# -- numbers -----------------------------------------------------------------------------------------------------------


def _numbers(found: Description) -> Element | None:
    numbers = [f for f in found.features if f.kind != "categorical"]
    if not numbers:
        return None
    marks = [f"{100 * q:g} %" for q in QUANTILES]
    compared = [f"correlation with {found.compared}"] if found.compared else []
    titles = ("column", "NULLs", "mean", "deviation", "least", *marks, "largest", *compared)
    drawn = [draw(_histogram(f, place)) for place, f in enumerate(numbers) if f.histogram and f.least != f.largest]
    rows = [[f.name, *number_row(found, f, QUANTILES)] for f in numbers]
    return section("numbers", "Numbers", table(titles, rows, words=1), el("div", drawn, class_="figures-row"))


def _histogram(f: ColumnFacts, place: int) -> Chart:
    assert f.histogram
    area = steps(f.histogram.edges, f.histogram.rows, "", "first")
    said = f"Mean {figure(f.mean)}, deviation {figure(f.deviation)}. "
    said += f"Each bar is {figure(f.histogram.edges[1] - f.histogram.edges[0])} wide."
    return bars(f"histogram-{place}", f.name, said, (f.name, "share of the rows"), (area,))


# -- categories --------------------------------------------------------------------------------------------------------


def _categories(found: Description) -> Element | None:
    named = [f for f in found.features if f.kind == "categorical"]
    if not named:
        return None
    mean = [f"{'share' if found.classes else 'mean'} of {found.compared}"] if found.compared else []
    tables = []
    for f in named:
        with_label = "" if f.correlation is None else f"; correlation ratio with the label {f.correlation:.3f}"
        caption = f"{f.name}: {amount(f.distinct or 0.0)} values{with_label}"
        tables.append(table((f.name, "rows", "share", *mean), _values(found, f), caption=caption))
    return section("categories", "Categories", tables)


def _values(found: Description, f: ColumnFacts) -> Iterator[list[str]]:
    for value, rows, mean in category_rows(found, f):
        last = [figure(mean)] if found.compared else []
        yield [value, size(found, rows), share(rows, found.rows), *last]


# -- each with each ----------------------------------------------------------------------------------------------------


def _matrix(found: Description) -> Element | None:
    """As a table: what is shaded can be read too."""
    if len(found.numbers) < 2:
        return None
    numbered = [f"{n}" for n in range(1, len(found.numbers) + 1)]
    head = el("tr", el("th", "", scope="col"), [el("th", n, scope="col", class_="number") for n in numbered])
    rows = zip(numbered, found.numbers, found.correlations.tolist(), strict=True)
    body = [el("tr", el("th", f"{n} {name}", scope="row"), list(map(_cell, row))) for n, name, row in rows]
    said = el("p", "Each over the rows where both columns have a value. The label is a column like the others.")
    drawn = el("table", el("thead", head), el("tbody", body), class_="matrix")
    return section("correlations", "Correlations", said, scrolled(drawn, "Correlations"))


def _cell(r: float) -> Element:
    if isnan(r):
        return el("td", "", class_="number")
    shade = f"background: color-mix(in srgb, var(--{'first' if r > 0 else 'second'}) {60 * abs(r):.0f}%, transparent)"
    return el("td", f"{r:.2f}".replace("-", "\u2212"), class_="number", style=shade)


def components_html(found: Components, made: datetime) -> str:
    shares = sum(c.ratio for c in found.components)
    facts = [("rows of the join", amount(found.rows)), ("features", f"{len(found.means)}"), ("scale", found.scale)]
    said = f"{len(found.components)} components have {100 * shares:.1f} % of the variance"
    return document(
        "The principal components of a join",
        made,
        opening("The principal components of a join", said, None, facts),
        section("variance", "Variance", el("p", proof(found)), el("div", draw(scree(found)), class_="beside")),
        section("loadings", "Loadings", table(*loadings(found))),
    )


def scree(found: Components) -> Chart:
    points = tuple((float(n), c.ratio) for n, c in enumerate(found.components, 1))
    return Chart(
        name="scree",
        title="Share of the variance",
        said="Each point is a component; the features are as scaled.",
        x=counted("component", len(points)),
        y=linear("share of the variance", [0.0, *(y for _, y in points)], percent=True),
        marks=(Line(points, "", "first", True),),
    )
