"""The section about the quality of the model: scores, ROC curve, confusion matrix and rates; or its residuals."""

from collections.abc import Mapping, Sequence

import numpy as np

from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.report.gather import Report
from sqlsvm.report.parts import Element, el, section, table
from sqlsvm.show.evaluation import Found, classes, groups, matrix, measures, number_of, worth_of
from sqlsvm.terminal import amount, row_count, share

MOST = 30  # classes that the matrix has a column for, and groups of which each has a line
MISTAKES = 12


def scores_section(report: Report, drawn: Mapping[str, Element]) -> Element | None:
    found = report.evaluation
    if not found:
        return None
    title = "How far it is off" if isinstance(found, Residuals) else "What it gets right"
    said, worth = el("p", _counted(report, found)), " ".join(worth_of(found))
    rates = table(*measures(found, found.of, report.seen), caption="Rates on both parts" if report.seen else "Rates")
    intervals = el("p", f"{worth[:1].upper()}{worth[1:]}", class_="aside") if worth else None
    if isinstance(found, Residuals):
        parts: list[object] = [el("div", drawn.get("residuals"), rates, class_="figures-row"), intervals]
    elif isinstance(found, Confusion):
        each = table(*classes(found, found.of, MOST), caption="Confusion matrix, a row for each class")
        parts = [el("div", rates, each, class_="figures-row"), intervals, _mistakes(found)]
    else:
        unit = "by the weight of rows" if found.of.weighted else "in rows"
        cells = table(*matrix(found, found.of, shares=True), caption=f"Confusion matrix, {unit} of the join")
        left = el("div", drawn.get("scores"), cells, rates)
        parts = [el("div", left, drawn.get("roc"), class_="figures-row"), intervals, drawn.get("reliability")]
    if report.groups:
        parts.append(table(*groups(report.groups, MOST), caption=most_of("Each group", report.groups.groups)))
        if missed := report.groups.missed:
            said_of = f"{row_count(missed, found.of.weighted)} of the join are in no group with a model."
            parts.append(el("p", said_of, class_="aside"))
    return section("scores", title, said, *parts)


def most_of(said: str, found: Sequence[object]) -> str:
    return f"{said}: the {MOST} with the most rows of {amount(len(found))}" if len(found) > MOST else said


def _counted(report: Report, found: Found) -> str:
    which = "held out of the training" if report.seen else "that the query has now"
    rows = found.negatives + found.positives if isinstance(found, Evaluation) else float(np.sum(found.rows))
    whole = f"over all {row_count(rows, found.of.weighted)} {which}"
    if isinstance(found, Confusion) and found.drawn is not None:
        return f"From {amount(float(found.drawn.sum()))} drawn rows of the join, for an estimate {whole}."
    if isinstance(found, Confusion) or (found.exact if isinstance(found, Evaluation) else not found.blur):
        return f"Counted {whole}, without making them. All numbers are exact."
    bounds = ", so there are bounds" if isinstance(found, Evaluation) else ""
    return f"Counted {whole}, without making them. Scores were rounded for counting{bounds}."


def _mistakes(found: Confusion) -> Element | None:
    """What is taken for something else most often."""
    unit, number = number_of(found.of.weighted)
    wrong, names = found.matrix.copy(), [str(value) for value in found.values]
    np.fill_diagonal(wrong, 0.0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MISTAKES]
    places = [divmod(place, len(names)) for place in order.tolist()]
    rows = [
        (names[i], names[j], number(wrong[i, j]), share(wrong[i, j], float(found.rows[i])))
        for i, j in places
        if wrong[i, j] > 0
    ]
    titles = (found.of.label, "predicted as", unit, "of its class")
    return table(titles, rows, words=2, caption="The most frequent mistakes") if rows else None
