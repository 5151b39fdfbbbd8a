"""The section about the quality of the model: scores, ROC curve, confusion matrix and rates; or its residuals."""

from collections.abc import Callable, Mapping

from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Bounded, Evaluation, Residuals
from sqlsvm.report.classes import confusion_section
from sqlsvm.report.gather import Report
from sqlsvm.report.parts import INTERVAL, Element, el, said_of_intervals, section, table
from sqlsvm.show.evaluation import interval_of, interval_of_number, measures_of, rates_of
from sqlsvm.terminal import amount, row_count, share, weight


def scores_section(report: Report, drawn: Mapping[str, Element]) -> Element | None:
    found, seen = report.evaluation, report.seen
    if isinstance(found, Residuals):
        return _residuals_section(report, found, seen if isinstance(seen, Residuals) else None, drawn)
    if isinstance(found, Confusion):
        return confusion_section(report, found)
    if not found:
        return None
    assert not isinstance(seen, Residuals | Confusion)  # both are of one model
    exact = "All numbers are exact." if found.exact else "Scores were rounded for counting, so there are bounds."
    said = f"{_counted(report, found.negatives + found.positives)} {exact}"
    left = el("div", drawn.get("scores"), _confusion(report, found), _rates(found, seen))
    return section(
        "scores",
        "What it gets right",
        el("p", said),
        el("div", left, drawn.get("roc"), class_="figures-row"),
        said_of_intervals(found),
        drawn.get("reliability"),
    )


def _counted(report: Report, rows: float) -> str:
    which = "held out of the training" if report.seen else "that the query has now"
    return f"Counted over all {row_count(rows, report.model.weighted)} {which}, without making them."


def _residuals_section(
    report: Report, found: Residuals, seen: Residuals | None, drawn: Mapping[str, Element]
) -> Element:
    exact = "Scores were rounded for counting." if found.blur else "All numbers are exact."
    rows = [[*row] for row in measures_of(found, report.model.weighted)]
    titles = ["measure", "held out" if seen else "value"]
    if found.intervals:
        titles.append(INTERVAL)
        rows = [[*row, interval_of_number(found, row[0])] for row in rows]
        rows.append(["loss", f"{found.intervals['loss'].value:.6g}", interval_of_number(found, "loss")])
    if seen:
        titles.append("trained on")
        trained = dict(measures_of(seen, report.model.weighted))
        rows = [[*row, trained.get(row[0], "")] for row in rows]
    measures = table(titles, rows, words=1, caption=f"{report.model.label} \u2212 score")
    said = f"{_counted(report, found.rows)} {exact}"
    return section(
        "scores",
        "How far it is off",
        el("p", said),
        el("div", drawn.get("residuals"), measures, class_="figures-row"),
        said_of_intervals(found),
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
    names = [*(rates := rates_of(found))]
    rows = [[name.replace("_", " "), f"{rate.value:.4f}", _bounds(rate)] for name, rate in rates.items()]
    if seen is None:
        return table(("measure", "value", "proven to be"), rows, words=1, caption="Rates")
    titles = ["measure", "held out", "proven to be", "trained on"]
    both = [[*row, _value(getattr(seen, name))] for row, name in zip(rows, names, strict=True)]
    if found.intervals:
        titles.insert(2, INTERVAL)
        names, loss = [*names, "loss"], f"{found.intervals['loss'].value:.4f}"
        both = [
            [*row[:2], interval_of(found, name), *row[2:]]
            for row, name in zip([*both, ["loss", loss, "", ""]], names, strict=True)
        ]
    return table(titles, both, words=1, caption="Rates on both parts")


def _value(found: Bounded | None) -> str:
    return "" if found is None else f"{found.value:.4f}"


def _bounds(found: Bounded) -> str:
    return "exact" if found.exact else f"{found.lower:.4f} to {found.upper:.4f}"
