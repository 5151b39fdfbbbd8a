"""The parts of a report that are about a model with more than two classes."""

from collections.abc import Iterator

import numpy as np

from sqlsvm.model.confusion import Confusion
from sqlsvm.model.model import Model, OfClass
from sqlsvm.report.effects import TOP
from sqlsvm.report.gather import Report
from sqlsvm.report.parts import INTERVAL, Element, el, percent, said_of_intervals, section, table
from sqlsvm.show.evaluation import interval_of
from sqlsvm.terminal import amount, row_count, share, weight

MOST = 30  # classes that the matrix has a column for
MISTAKES = 12


def proofs_of_classes(model: Model, said: str) -> Element:
    """`said` explains the objective."""
    titles = ("class", "rows", "objective", "at most", "lower bound", "gap", "passes", "seconds")
    about = f"Each class is trained against all others. The model has the means, and the largest gap. {said}"
    number = weight if model.weighted else amount
    rows = [_proof(of, number(of.rows)) for of in model.classes]
    open_ = [str(of.value) for of in model.classes if not of.converged]
    late = el("p", f"Not converged: {', '.join(open_)}.", class_="aside") if open_ else None
    return section("proof", "The certificates", el("p", about), table(titles, rows, words=1), late)


def _proof(of: OfClass, rows: str) -> tuple[str, ...]:
    values = (f"{value:.6g}" for value in (of.objective, of.objective_upper, of.lower_bound))
    return str(of.value), rows, *values, percent(of.gap), str(of.passes), f"{of.seconds:.1f}"


def weights_of_classes(report: Report) -> Element:
    """A row for each weight, with a column for each class; those that matter most for some class first."""
    model = report.model
    scaled = np.array([of.weights.scaled for of in model.classes])
    order = np.argsort(-np.abs(scaled).max(axis=0, initial=0.0), kind="stable")[:TOP]
    said = (
        "The score of a class is its intercept + the sum of weight times column; the prediction is the class with the "
        "largest score. These are the scaled weights: scaled features have the same size, so the largest come first. "
        "Above 0 a feature speaks for the class."
    )
    first = model.classes[0].weights
    rows = [("", "(intercept)", *(_signed(of.scaled_intercept or 0.0) for of in model.classes))]
    for place in order.tolist():
        w = first[place]
        name = w.feature if w.category is None else f"{w.feature} = {w.category}"
        rows.append((report.relation_of(w.feature), name, *map(_signed, scaled[:, place].tolist())))
    titles = ("relation", "feature", *(str(of.value) for of in model.classes))
    left = len(first) - len(order)
    more = el("p", f"And {amount(left)} more, with smaller weights.", class_="aside") if left else None
    return section("weights", "The weights", el("p", said), table(titles, rows, words=2), more)


def _signed(value: float) -> str:
    return f"{value:.4f}".replace("-", "\u2212")


def confusion_section(report: Report, found: Confusion) -> Element:
    which = "held out of the training" if report.seen else "that the query has now"
    whole = f"over all {row_count(float(found.rows.sum()), report.model.weighted)} {which}"
    said = f"Counted {whole}, without making them. All numbers are exact."
    if found.drawn is not None:
        said = f"From {amount(float(found.drawn.sum()))} drawn rows of the join, for an estimate {whole}."
    return section(
        "scores",
        "What it gets right",
        el("p", said),
        el("div", _rates(report, found), _measures(report, found), class_="figures-row"),
        said_of_intervals(found),
        _matrix(report, found) if len(found.values) <= MOST else None,
        _mistakes(report, found),
    )


def _rates(report: Report, found: Confusion) -> Element:
    number, unit = (weight, "weight") if report.model.weighted else (amount, "rows")
    rows = [(str(value), number(n), *(f"{rate:.4f}" for rate in own)) for value, n, *own in found.of_classes()]
    titles = (report.model.label, unit, "precision", "recall", "F1")
    return table(titles, rows, words=1, caption="Of each class")


def _measures(report: Report, found: Confusion) -> Element:
    seen, errors = report.seen, found.errors
    known = seen.measures if isinstance(seen, Confusion) else {}
    with_interval = [INTERVAL] if found.intervals else []
    more = (*([] if found.exact else ["error of drawing"]), *with_interval, *(["trained on"] if known else []))

    def cells(name: str, value: float) -> Iterator[str]:
        yield from (name.replace("_", " "), f"{value:.4f}")
        yield from () if found.exact else (f"{errors[name]:.4f}",)
        yield from (interval_of(found, name) for _ in with_interval)
        yield from (f"{known[name]:.4f}",) if known else ()

    titles = ("measure", "held out" if known else "value", *more)
    return table(titles, [cells(*each) for each in found.measures.items()], words=1, caption="Measures")


def _matrix(report: Report, found: Confusion) -> Element:
    """Counts or weights of rows. Each row of the table is a class."""
    number = weight if report.model.weighted else amount
    names = [str(value) for value in found.values]
    rows = [(name, *map(number, row)) for name, row in zip(names, found.matrix.tolist(), strict=True)]
    titles = (report.model.label, *(f"predicted {name}" for name in names))
    return table(titles, rows, words=1, caption="Confusion matrix, a row for each class")


def _mistakes(report: Report, found: Confusion) -> Element | None:
    """What is taken for something else most often."""
    number = weight if report.model.weighted else amount
    wrong, names = found.matrix.copy(), [str(value) for value in found.values]
    np.fill_diagonal(wrong, 0.0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MISTAKES]
    places = [divmod(place, len(names)) for place in order.tolist()]
    rows = [
        (names[i], names[j], number(wrong[i, j]), share(wrong[i, j], float(found.rows[i])))
        for i, j in places
        if wrong[i, j] > 0
    ]
    titles = (report.model.label, "predicted as", "rows", "of its class")
    return table(titles, rows, words=2, caption="The most frequent mistakes") if rows else None
