"""An evaluation as text: the confusion matrix and the usual rates, with bounds where they are not exact."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TextIO

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sqlsvm.measures import MEASURES, NUMBER, SEVERAL, TWO, deciding, of_scores
from sqlsvm.model.confusion import ByGroup, Confusion, f1, precision, recall
from sqlsvm.model.evaluation import Bounded, Evaluation, Fairness, Residuals
from sqlsvm.paper import columns, on_paper
from sqlsvm.query.rewrites.split import Part
from sqlsvm.terminal import amount, printable, weight

Measured = Evaluation | Residuals | Confusion | ByGroup


def draw_evaluation(
    found: Measured, label: str, classes: tuple[object, ...], stream: TextIO, *, weighted: bool = False
) -> str:
    """`classes` are the values of the label, the negative one first."""
    if isinstance(found, ByGroup):
        return _by_group(found, label, classes, stream, weighted=weighted)
    if isinstance(found, Confusion):
        how = (_looked_at(found), *worth_of(found))
        return on_paper(stream, _classes(found, label, weighted), "", _measures(found), "", *how)
    fair: list[str | Table] = ["", _fairness(found.fairness)] if found.fairness else []
    if isinstance(found, Residuals):
        worth = [*worth_of(found)]
        return on_paper(stream, _residuals(found, label, weighted), *fair, *([""] if worth else []), *worth)
    return on_paper(stream, _matrix(found, label, classes, weighted), "", _rates(found), *fair, "", *_how(found))


def _by_group(found: ByGroup, label: str, classes: tuple[object, ...], stream: TextIO, *, weighted: bool) -> str:
    """A line for each group, then all of them."""
    names = OF_GROUPS[found.groups[0].found.kind if found.groups else TWO]
    unit, number = ("weight", weight) if weighted else ("rows", amount)
    table = columns(escape(printable(found.by)), numbers=(unit, *(name.replace("_", " ") for name in names)))
    for one in found.groups:
        measures = (MEASURES[name].value(one.found) for name in names)
        table.add_row(Text(printable(str(one.value))), number(one.rows), *map(_short, measures))
    drawn = [on_paper(stream, table)]
    if found.whole:
        drawn.append(f"all groups\n\n{draw_evaluation(found.whole, label, classes, stream, weighted=weighted)}")
    if found.missed:
        drawn.append(f"in no group with a model: {number(found.missed)} {unit} of the join")
    return "\n\n".join(drawn)


OF_GROUPS = {label: tuple(n for n in deciding(label) if n != "loss") for label in (TWO, SEVERAL)}
OF_GROUPS[NUMBER] = ("mae", "rmse", "r2", "coverage")  # there is room for a few


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _how(found: Evaluation) -> Iterator[str]:
    if found.sample:
        yield f"measured on a sample of {amount(found.sample)} join rows: a kernel machine cannot be counted"
    else:
        yield "exact" if found.exact else "between bounds where scores had to be rounded"
    yield from worth_of(found)


def worth_of(found: Evaluation | Residuals | Confusion) -> Iterator[str]:
    """Of rows held out."""
    if found.no_intervals:
        yield found.no_intervals if found.intervals else f"no intervals: {found.no_intervals}"
    if not found.clusters:
        return
    rows, worth = amount(found.clusters.rows), amount(found.clusters.effective)
    yield f"The intervals are of 95 %. The rows of the join have {rows} rows of the label's table;"
    yield f"they are worth {worth} independent rows."


IN_SAMPLE = "the rows that it was trained on"
TITLES: Mapping[Part, str] = {"holdout": "the rows held out", "train": IN_SAMPLE}


def draw_parts(
    parts: Mapping[Part, Measured], label: str, classes: tuple[object, ...], stream: TextIO, *, weighted: bool = False
) -> str:
    """The evaluations on the rows held out, and then on the rows of the training."""
    drawn = {part: draw_evaluation(found, label, classes, stream, weighted=weighted) for part, found in parts.items()}
    return "\n\n\n".join(f"{title}\n\n{drawn[part]}" for part, title in TITLES.items() if part in drawn)


WIDE = 12  # classes that a matrix has room for


def _classes(found: Confusion, label: str, weighted: bool) -> Table:
    """A row for each class; if there are many, without the predictions of each of them."""
    number, names = weight if weighted else amount, [printable(str(value)) for value in found.values]
    shown = names if len(names) <= WIDE else []
    predicted = (f"predicted {escape(name)}" for name in shown)
    rates = precision(found.matrix), recall(found.matrix), f1(found.matrix)
    unit = "weight" if weighted else "rows"
    table = columns(escape(printable(label)), numbers=(unit, *predicted, "precision", "recall", "f1"))
    for i, name in enumerate(names):
        cells = (number(cell) for cell in found.matrix[i][: len(shown)])
        table.add_row(Text(name), number(found.rows[i]), *cells, *(f"{rate[i]:.4f}" for rate in rates))
    return table


def _measures(found: Confusion) -> Table:
    of_drawing = [] if found.exact else ["error of drawing"]
    table = columns("measure", numbers=("value", *of_drawing, *(["interval"] if found.intervals else [])))
    errors = found.errors
    for name, value in found.measures.items():
        figures = [f"{value:.4f}", *(f"{errors[name]:.4f}" for _ in of_drawing)]
        table.add_row(name.replace("_", " "), *figures, *([interval_of(found, name)] if found.intervals else []))
    return table


def _looked_at(found: Confusion) -> str:
    if found.drawn is None:
        return "exact"
    return f"from {amount(float(found.drawn.sum()))} rows that were drawn from the join"


def _residuals(found: Residuals, label: str, weighted: bool) -> Table:
    interval = ("interval",) if found.intervals else ()
    table = columns(f"{escape(printable(label))} - score", numbers=("value", *interval))
    rows = list(measures_of(found, weighted))
    if known := found.intervals.get("loss"):
        rows.append(("loss", f"{known.value:.6g}"))
    for said, value in rows:
        table.add_row(said, value, *([interval_of_number(found, said)] if interval else []))
    return table


def interval_of_number(found: Residuals, said: str) -> str:
    known = next((each for name, each in found.intervals.items() if MEASURES[name].words == said), None)
    return f"{known.lower:.6g} to {known.upper:.6g}" if known else ""


def measures_of(found: Residuals, weighted: bool) -> Iterator[tuple[str, str]]:
    """What is known of residuals, in words."""
    yield ("weight", weight(found.rows)) if weighted else ("rows", amount(found.rows))
    yield MEASURES["mae"].words, f"{found.mae:.6g}"
    yield MEASURES["rmse"].words, f"{found.rmse:.6g}"
    if found.r2 is not None:
        yield MEASURES["r2"].words, f"{found.r2:.4f}"
    if found.blur:
        yield "these are off by at most", f"{found.blur:.2g}"
    yield f"pinball loss of quantile {found.quantile:g}", f"{found.pinball:.6g}"
    yield "share of labels up to the score", f"{found.coverage:.4f}"


def _fairness(columns_: Sequence[Fairness]) -> Table:
    table = columns("fair to", numbers=("covariance", "limit", "positive where false", "where true"))
    for f in columns_:
        rates = (f"{rate:.4f}" for rate in f.rates) if f.rates else ("", "")
        table.add_row(Text(printable(f.column)), f"{f.covariance:.4g}", f"{f.limit:g}", *rates)
    return table


def _matrix(found: Evaluation, label: str, classes: tuple[object, ...], weighted: bool) -> Table:
    negative, positive = (printable(str(value)) for value in classes)
    predicted = (f"predicted {escape(name)}" for name in (negative, positive))
    unit, number = ("weight", weight) if weighted else ("rows", amount)
    table = columns(escape(printable(label)), numbers=(unit, *predicted))
    for name, rows, cells in (
        (negative, found.negatives, (found.true_negative, found.false_positive)),
        (positive, found.positives, (found.false_negative, found.true_positive)),
    ):
        table.add_row(Text(name), number(rows), *(_cell(cell, number) for cell in cells))
    return table


def _cell(found: Bounded, number: Callable[[float], str]) -> str:
    bounds = "" if found.exact else f" ({number(found.lower)} to {number(found.upper)})"
    return f"{number(found.value)}{bounds}"


def rates_of(found: Evaluation) -> dict[str, Bounded]:
    """Those that are known."""
    each = {name: getattr(found, name) for name in of_scores(TWO, probabilities=True)}
    return {name: rate for name, rate in each.items() if rate is not None}


def _rates(found: Evaluation) -> Table:
    """With bounds where there are some."""
    rates = rates_of(found)
    bounds = () if all(rate.exact for rate in rates.values()) else ("at least", "at most")
    interval = ("interval",) if found.intervals else ()
    table = columns("measure", numbers=("value", *bounds, *interval))
    for name, rate in rates.items():
        values = (rate.value,) if rate.exact else (rate.value, rate.lower, rate.upper)
        figures = [f"{value:.4f}" for value in values]
        figures += [""] * (1 + len(bounds) - len(figures))
        table.add_row(name.replace("_", " "), *figures, *([interval_of(found, name)] if interval else []))
    if interval:
        table.add_row("loss", f"{found.intervals['loss'].value:.4f}", *("" for _ in bounds), interval_of(found, "loss"))
    return table


def interval_of(found: Evaluation | Confusion, name: str) -> str:
    known = found.intervals.get(name)
    return f"{known.lower:.4f} to {known.upper:.4f}" if known else ""
