"""The section about the quality of the model: scores, ROC curve, confusion matrix and rates."""

from collections.abc import Callable, Mapping

from sqlsvm.model.evaluation import Bounded, Evaluation
from sqlsvm.report.gather import Report
from sqlsvm.report.markup import Element, el
from sqlsvm.report.parts import section, table
from sqlsvm.show.evaluation import RATES
from sqlsvm.terminal import amount, row_count, share, weight


def scores_section(report: Report, drawn: Mapping[str, Element]) -> Element | None:
    found = report.evaluation
    if not found:
        return None
    exact = "All numbers are exact." if found.exact else "Scores were rounded for counting, so there are bounds."
    rows = row_count(found.negatives + found.positives, report.model.weighted)
    which = "held out of the training" if report.seen else "that the query has now"
    said = f"Counted over all {rows} {which}, without making them. {exact}"
    left = el("div", drawn.get("scores"), _confusion(report, found), _rates(found, report.seen))
    return section(
        "scores", "What it gets right", el("p", said), el("div", left, drawn.get("roc"), class_="figures-row")
    )


def _confusion(report: Report, found: Evaluation) -> Element:
    negative, positive = (str(value) for value in report.model.trained_on.label_values)
    number, unit = (weight, "by the weight of rows") if report.model.weighted else (amount, "in rows")
    rows = [
        (name, *(_count(cell, whole, number) for cell in cells))
        for name, whole, *cells in (
            (negative, found.negatives, found.true_negative, found.false_positive),
            (positive, found.positives, found.false_negative, found.true_positive),
        )
    ]
    titles = (report.model.label, f"predicted {negative}", f"predicted {positive}")
    return table(titles, rows, words=1, caption=f"Confusion matrix, {unit} of the join")


def _count(found: Bounded, whole: float, number: Callable[[float], str]) -> str:
    bounds = "" if found.exact else f", {number(found.lower)} to {number(found.upper)}"
    return f"{number(found.value)} ({share(found.value, whole)}{bounds})" if whole else number(found.value)


def _rates(found: Evaluation, seen: Evaluation | None) -> Element:
    """The rates on the rows held out, next to the rates on the rows of the training."""
    names = [name for name in RATES if getattr(found, name) is not None]
    rows = [
        (name.replace("_", " "), f"{getattr(found, name).value:.4f}", _bounds(getattr(found, name))) for name in names
    ]
    if seen is None:
        return table(("measure", "value", "proven to be"), rows, words=1, caption="Rates")
    both = [(*row, _value(getattr(seen, name))) for row, name in zip(rows, names, strict=True)]
    titles = ("measure", "held out", "proven to be", "trained on")
    return table(titles, both, words=1, caption="Rates on both parts")


def _value(found: Bounded | None) -> str:
    return "" if found is None else f"{found.value:.4f}"


def _bounds(found: Bounded) -> str:
    return "exact" if found.exact else f"{found.lower:.4f} to {found.upper:.4f}"
