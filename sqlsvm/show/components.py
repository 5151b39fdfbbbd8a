"""Components as text: their variances with bars, and the loadings."""

from typing import TextIO

from rich.table import Table
from rich.text import Text

from sqlsvm.paper import columns, on_paper
from sqlsvm.run.components import Components
from sqlsvm.terminal import amount, printable

WIDTH = 40
"""Of the longest bar."""


def draw(found: Components, stream: TextIO) -> str:
    last = f"All features together have a variance of {found.variance:.4g}, over {amount(found.rows)} rows of the join."
    return on_paper(stream, _variances(found), "", _loadings(found), "", last, proof(found))


def proof(found: Components) -> str:
    how = f" after {found.steps} steps of power iteration" if found.steps else ""
    return f"Each variance is within {found.residual:.1e} of an eigenvalue of the covariance{how}."


def _variances(found: Components) -> Table:
    table = columns("component", numbers=("variance", "share", "so far"))
    table.add_column("")
    largest, so_far = max((c.variance for c in found.components), default=0.0), 0.0
    for number, c in enumerate(found.components, 1):
        so_far += c.ratio
        bar = "#" * round(WIDTH * c.variance / largest) if largest else ""
        table.add_row(f"{number}", f"{c.variance:.4g}", f"{100 * c.ratio:.1f} %", f"{100 * so_far:.1f} %", bar)
    return table


def _loadings(found: Components) -> Table:
    table = columns("feature", numbers=tuple(f"{n}" for n in range(1, len(found.components) + 1)))
    for name in found.means:
        table.add_row(Text(printable(name)), *(f"{c.loadings[name]:.3f}" for c in found.components))
    return table
