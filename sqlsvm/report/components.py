"""Components as a page: the scree plot and the loadings."""

from datetime import datetime

from sqlsvm.report.chart import Chart, Line, counted, linear
from sqlsvm.report.markup import el
from sqlsvm.report.parts import document, figures, section, table
from sqlsvm.report.svg import draw
from sqlsvm.run.components import Components
from sqlsvm.show.components import proof
from sqlsvm.terminal import amount


def html(found: Components, made: datetime) -> str:
    shares = sum(c.ratio for c in found.components)
    facts = [("rows of the join", amount(found.rows)), ("features", f"{len(found.means)}"), ("scale", found.scale)]
    opening = el(
        "header",
        el("p", "The principal components of a join", class_="kicker"),
        el("h1", f"{len(found.components)} components have {100 * shares:.1f} % of the variance"),
        figures(facts),
    )
    numbered = [f"{n}" for n in range(1, len(found.components) + 1)]
    rows = [[name, *(f"{c.loadings[name]:.3f}" for c in found.components)] for name in found.means]
    return document(
        "The principal components of a join",
        made,
        opening,
        section("variance", "Variance", el("p", proof(found)), el("div", draw(scree(found)), class_="beside")),
        section("loadings", "Loadings", table(("feature", *numbered), rows, words=1)),
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
