"""An evaluation as text: the confusion matrix and the usual rates, with bounds where they are not exact."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TextIO

from rich.table import Table

from sqlsvm.measures import MEASURES, NUMBER, SEVERAL, TWO, deciding, of_scores
from sqlsvm.model.confusion import ByGroup, Confusion
from sqlsvm.model.evaluation import Bounded, Evaluation, Fairness, Named, Residuals
from sqlsvm.paper import on_paper, table
from sqlsvm.query.rewrites.split import Part
from sqlsvm.terminal import Listed, amount, share, weight

Found = Evaluation | Residuals | Confusion
Measured = Found | ByGroup


def draw_evaluation(found: Measured, stream: TextIO) -> str:
    return _by_group(found, stream) if isinstance(found, ByGroup) else _drawn(found, found.of, stream)


def _drawn(found: Found, of: Named, stream: TextIO) -> str:
    if isinstance(found, Confusion):
        how = (_looked_at(found), *worth_of(found))
        return on_paper(stream, table(*classes(found, of, WIDE)), "", table(*measures(found, of)), "", *how)
    fair: list[str | Table] = ["", _fairness(found.fairness)] if found.fairness else []
    if isinstance(found, Residuals):
        worth = [*worth_of(found)]
        return on_paper(stream, table(*measures(found, of)), *fair, *([""] if worth else []), *worth)
    return on_paper(stream, table(*matrix(found, of)), "", table(*measures(found, of)), *fair, "", *_how(found))


def number_of(weighted: bool) -> tuple[str, Callable[[float], str]]:
    """What is counted, and how it is written."""
    return ("weight", weight) if weighted else ("rows", amount)


def groups(found: ByGroup, most: int | None = None) -> Listed:
    """A line for each group; of more than `most` for those with the most rows."""
    shown = found.groups if most is None else sorted(found.groups, key=lambda one: -one.rows)[:most]
    names = OF_GROUPS[found.groups[0].found.kind if found.groups else TWO]
    unit, number = number_of(found.of.weighted)
    rows = [
        (str(one.value), number(one.rows), *(_short(MEASURES[name].value(one.found)) for name in names))
        for one in shown
    ]
    return Listed((found.by, unit, *(name.replace("_", " ") for name in names)), rows)


def _by_group(found: ByGroup, stream: TextIO) -> str:
    """A line for each group, then all of them."""
    drawn, (unit, number) = [on_paper(stream, table(*groups(found)))], number_of(found.of.weighted)
    if found.whole:
        drawn.append(f"all groups\n\n{_drawn(found.whole, found.of, stream)}")
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


def draw_parts(parts: Mapping[Part, Measured], stream: TextIO) -> str:
    """The evaluations on the rows held out, and then on the rows of the training."""
    drawn = {part: draw_evaluation(found, stream) for part, found in parts.items()}
    return "\n\n\n".join(f"{title}\n\n{drawn[part]}" for part, title in TITLES.items() if part in drawn)


def _looked_at(found: Confusion) -> str:
    if found.drawn is None:
        return "exact"
    return f"from {amount(float(found.drawn.sum()))} rows that were drawn from the join"


# -- tables, for a terminal and for a page -----------------------------------------------------------------------------

WIDE = 12  # classes that a matrix has room for


def classes(found: Confusion, of: Named, most: int) -> Listed:
    """A row for each class; if there are many, without the predictions of each of them."""
    unit, number = number_of(of.weighted)
    names = [str(value) for value in found.values]
    shown = names if len(names) <= most else []
    rows = [
        (name, number(n), *map(number, cells[: len(shown)]), *(f"{rate:.4f}" for rate in rates))
        for name, (_, n, *rates), cells in zip(names, found.of_classes(), found.matrix.tolist(), strict=True)
    ]
    return Listed((of.label, unit, *(f"predicted {name}" for name in shown), "precision", "recall", "f1"), rows)


def matrix(found: Evaluation, of: Named, *, shares: bool = False) -> Listed:
    unit, number = number_of(of.weighted)
    negative, positive = map(str, of.values)
    each = (
        (negative, found.negatives, found.true_negative, found.false_positive),
        (positive, found.positives, found.false_negative, found.true_positive),
    )

    def cell(found: Bounded, whole: float) -> str:
        more = [share(found.value, whole)] if shares and whole else []
        more += [] if found.exact else [f"{number(found.lower)} to {number(found.upper)}"]
        return number(found.value) + (f" ({', '.join(more)})" if more else "")

    rows = [(name, number(whole), *(cell(each, whole) for each in cells)) for name, whole, *cells in each]
    return Listed((of.label, unit, f"predicted {negative}", f"predicted {positive}"), rows)


def measures(found: Found, of: Named, seen: Found | None = None) -> Listed:
    """All that are known, with bounds, errors and intervals where there are some, next to those of the rows that were
    seen, if `found` is of others."""
    titles, rows = _values(found, of.weighted)
    if found.intervals:
        number = isinstance(found, Residuals)
        known = {MEASURES[n].words if number else n.replace("_", " "): each for n, each in found.intervals.items()}
        digits = ".6g" if number else ".4f"
        ends = {name: f"{each.lower:{digits}} to {each.upper:{digits}}" for name, each in known.items()}
        if "loss" in known:
            rows["loss"] = [f"{known['loss'].value:{digits}}", *("" for _ in titles)]
        rows = {name: [*cells, ends.get(name, "")] for name, cells in rows.items()}
        titles.append("interval")
    if seen:
        others = _values(seen, of.weighted)[1]
        rows = {name: [*cells, others.get(name, [""])[0]] for name, cells in rows.items()}
        titles.append("trained on")
    first = f"{of.label} - score" if isinstance(found, Residuals) else "measure"
    return Listed((first, "held out" if seen else "value", *titles), [(name, *cells) for name, cells in rows.items()])


def _values(found: Found, weighted: bool) -> tuple[list[str], dict[str, list[str]]]:
    """What says how far values may be off, and each with that."""
    if isinstance(found, Residuals):
        return [], {name: [value] for name, value in _of_residuals(found, weighted)}
    if isinstance(found, Confusion):
        of_drawing, errors = [] if found.exact else ["error of drawing"], found.errors
        each = {name: [value, *(errors[name] for _ in of_drawing)] for name, value in found.measures.items()}
        return of_drawing, {name.replace("_", " "): [f"{x:.4f}" for x in cells] for name, cells in each.items()}
    rates = {name: getattr(found, name) for name in of_scores(TWO, probabilities=True)}
    rates = {name.replace("_", " "): rate for name, rate in rates.items() if rate is not None}
    bounds = [] if all(rate.exact for rate in rates.values()) else ["at least", "at most"]
    return bounds, {
        name: [
            f"{rate.value:.4f}",
            *("" if rate.exact else f"{x:.4f}" for x in (rate.lower, rate.upper)[: len(bounds)]),
        ]
        for name, rate in rates.items()
    }


def _of_residuals(found: Residuals, weighted: bool) -> Iterator[tuple[str, str]]:
    unit, number = number_of(weighted)
    yield unit, number(found.rows)
    yield MEASURES["mae"].words, f"{found.mae:.6g}"
    yield MEASURES["rmse"].words, f"{found.rmse:.6g}"
    if found.r2 is not None:
        yield MEASURES["r2"].words, f"{found.r2:.4f}"
    if found.blur:
        yield "these are off by at most", f"{found.blur:.2g}"
    yield f"pinball loss of quantile {found.quantile:g}", f"{found.pinball:.6g}"
    yield "share of labels up to the score", f"{found.coverage:.4f}"


def _fairness(columns: Sequence[Fairness]) -> Table:
    rates = [[f"{rate:.4f}" for rate in f.rates] if f.rates else ["", ""] for f in columns]
    rows = [(f.column, f"{f.covariance:.4g}", f"{f.limit:g}", *each) for f, each in zip(columns, rates, strict=True)]
    return table(("fair to", "covariance", "limit", "positive where false", "where true"), rows)
