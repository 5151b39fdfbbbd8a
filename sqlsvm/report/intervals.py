"""What a page says of intervals, whatever the label is."""

from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.report.markup import Element, el
from sqlsvm.show.evaluation import worth_of

INTERVAL = "interval"
"""The title of a column."""


def said_of_intervals(found: Evaluation | Residuals | Confusion) -> Element | None:
    said = " ".join(worth_of(found))
    return el("p", f"{said[:1].upper()}{said[1:]}", class_="aside") if said else None
