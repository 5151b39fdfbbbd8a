"""An evaluation for people: the confusion matrix and the usual rates, with bounds where they are not exact."""

from collections.abc import Mapping
from typing import TextIO

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sqlsvm.draw import columns, on_paper
from sqlsvm.evaluation import Bounded, Evaluation
from sqlsvm.holdout import Part
from sqlsvm.terminal import amount, printable

RATES = ("accuracy", "precision", "recall", "f1", "balanced_accuracy", "auc")


def draw_evaluation(found: Evaluation, label: str, classes: tuple[object, object], stream: TextIO) -> str:
    """`classes` are the label's own values, the negative one first."""
    said = "exact" if found.exact else "between bounds where scores had to be rounded"
    return on_paper(stream, _matrix(found, label, classes), "", _rates(found), "", said)


def draw_parts(parts: Mapping[Part, Evaluation], label: str, classes: tuple[object, object], stream: TextIO) -> str:
    """What the model says of the rows that it has seen, and of those that it has not."""
    titles = {"train": "the rows that it was trained on", "holdout": "the rows held out"}
    drawn = (f"{titles[part]}\n\n{draw_evaluation(found, label, classes, stream)}" for part, found in parts.items())
    return "\n\n\n".join(drawn)


def _matrix(found: Evaluation, label: str, classes: tuple[object, object]) -> Table:
    negative, positive = (printable(str(value)) for value in classes)
    predicted = (f"predicted {escape(name)}" for name in (negative, positive))
    table = columns(escape(printable(label)), numbers=("rows", *predicted))
    for name, rows, cells in (
        (negative, found.negatives, (found.true_negative, found.false_positive)),
        (positive, found.positives, (found.false_negative, found.true_positive)),
    ):
        table.add_row(Text(name), amount(rows), *(_cell(cell) for cell in cells))
    return table


def _cell(found: Bounded) -> str:
    bounds = "" if found.exact else f" ({amount(found.lower)} to {amount(found.upper)})"
    return f"{amount(found.value)}{bounds}"


def _rates(found: Evaluation) -> Table:
    bounds = () if found.exact else ("at least", "at most")
    table = columns("measure", numbers=("value", *bounds))
    for name in RATES:
        rate: Bounded | None = getattr(found, name)
        if rate is not None:
            values = (rate.value, rate.lower, rate.upper)[: 1 + len(bounds)]
            table.add_row(name.replace("_", " "), *(f"{value:.4f}" for value in values))
    return table
