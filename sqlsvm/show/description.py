"""A Description as text: a table of the numbers, a table of the categories, notes."""

from collections.abc import Iterable, Iterator
from typing import TextIO

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sqlsvm.ask.alike import alike
from sqlsvm.ask.describe import ColumnFacts, Description
from sqlsvm.compile.columns import QUANTILES
from sqlsvm.paper import on_paper, table
from sqlsvm.run.components import Components
from sqlsvm.terminal import Listed, amount, printable, row_count, share, weight

SHOWN = {0.05: "5 %", 0.5: "median", 0.95: "95 %"}  # of the quantiles
assert SHOWN.keys() <= set(QUANTILES)


def draw(found: Description, stream: TextIO) -> str:
    parts: list[RenderableType] = []
    if any(f.kind != "categorical" for f in found.features):
        parts += [_numbers(found), ""]
    if any(f.kind == "categorical" for f in found.features):
        parts += [_categories(found), ""]
    parts += [Text.assemble(("note:", "bold yellow"), " ", line) for line in notes(found)]
    return on_paper(stream, *parts, f"The join has {row_count(found.rows, found.weighted)}; it was not made.")


def notes(found: Description) -> Iterator[str]:
    for f in found.features:
        if f.odd:
            rows = row_count(f.odd, found.weighted)
            yield f"{printable(f.name)} is NaN, infinite or beyond 1e100 in {rows}, which its figures leave out"
        if len(f.relations) > 1:
            yield _of_sum(f)
    for pair in alike(found.numbers, found.correlations):
        yield pair.said


def _of_sum(f: ColumnFacts) -> str:
    several = f"{printable(f.name)} adds up terms of {printable(' and '.join(f.relations))}"
    if f.mean is None:
        return f"{several}, and one is NULL in some rows: its figures are not known from the tables"
    return f"{several}: its least, its largest and its quantiles are not known from the tables"


def _numbers(found: Description) -> Table:
    label = ["with label"] if found.compared else []
    rows = [(f.name, *number_row(found, f, SHOWN)) for f in found.features if f.kind != "categorical"]
    return table(("feature", "NULLs", "mean", "deviation", "least", *SHOWN.values(), "largest", *label), rows)


def number_row(found: Description, f: ColumnFacts, quantiles: Iterable[float]) -> list[str]:
    middle = [f.mean, f.deviation, f.least, *map(f.quantiles.get, quantiles), f.largest]
    return [size(found, f.nulls) if f.nulls else "", *map(figure, middle), *_correlation(found, f)]


def size(found: Description, n: float) -> str:
    return weight(n) if found.weighted else amount(n)


def _correlation(found: Description, f: ColumnFacts) -> list[str]:
    return ["" if f.correlation is None else f"{f.correlation:.3f}"] if found.compared else []


def figure(value: float | None) -> str:
    """
    >>> figure(0.30000000000000004), figure(1234567.0), figure(None)
    ('0.3', '1.235e+06', '')
    """
    return "" if value is None else f"{value + 0.0:.4g}"


def _categories(found: Description) -> Table:
    """Below the named categories of a column, the rows of the others."""
    of_label = [f"{'share' if found.classes else 'mean'} of {found.compared}"] if found.compared else []
    ratio = ["with label"] if found.compared else []
    rows = []
    for f in (f for f in found.features if f.kind == "categorical"):
        first, also = f.name, _correlation(found, f)
        for value, n, mean in category_rows(found, f):
            last = ["" if mean is None else f"{mean:.4g}", *also] if found.compared else []
            rows.append([first, value, size(found, n), share(n, found.rows), *last])
            first, also = "", [""] * len(also)
    return table(("feature", "category", "rows", "share", *of_label, *ratio), rows, words=2)


def category_rows(found: Description, f: ColumnFacts) -> Iterator[tuple[str, float, float | None]]:
    yield from ((printable(str(c.value)), c.rows, c.label_mean) for c in f.categories)
    named, nulls = sum(c.rows for c in f.categories), f.nulls or 0.0
    others = (f.distinct or 0.0) - len(f.categories)
    if others:
        yield f"({amount(others)} more)", found.rows - named - nulls, None
    if nulls:
        yield "(NULL)", nulls, None


WIDTH = 40  # of the longest bar


def draw_components(found: Components, stream: TextIO) -> str:
    last = f"All features together have a variance of {found.variance:.4g}, over {amount(found.rows)} rows of the join."
    return on_paper(stream, _variances(found), "", table(*loadings(found)), "", last, proof(found))


def proof(found: Components) -> str:
    how = f" after {found.steps} steps of power iteration" if found.steps else ""
    return f"Each variance is within {found.residual:.1e} of an eigenvalue of the covariance{how}."


def _variances(found: Components) -> Table:
    rows, largest, so_far = [], max((c.variance for c in found.components), default=0.0), 0.0
    for number, c in enumerate(found.components, 1):
        so_far += c.ratio
        bar = "#" * round(WIDTH * c.variance / largest) if largest else ""
        rows.append((f"{number}", f"{c.variance:.4g}", f"{100 * c.ratio:.1f} %", f"{100 * so_far:.1f} %", bar))
    return table(("component", "variance", "share", "so far"), rows, more=("",))


def loadings(found: Components) -> Listed:
    rows = [[name, *(f"{c.loadings[name]:.3f}" for c in found.components)] for name in found.means]
    return Listed(("feature", *(f"{n}" for n in range(1, len(found.components) + 1))), rows)
