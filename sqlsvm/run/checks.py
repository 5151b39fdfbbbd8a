"""What the moments of a join must be, so that something can be learnt from it."""

from collections.abc import Collection, Sequence
from math import isfinite

from sqlsvm.errors import DataError
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import LabelMoments, Moments
from sqlsvm.plan.target import Classes

MANY = 1000
"""Categories."""


class Lacking(DataError):
    """There are no rows, or none of one class."""


class LostClasses(DataError):
    """No row of the join has these of more than two classes."""

    def __init__(self, target: Classes, lost: Sequence[str]) -> None:
        label = target.label.name
        super().__init__(
            f"no row of the join has the {label} {lost[0]!r}, so nothing can be learnt of that class",
            hint=f"leave it out in WHERE: {label} <> '{lost[0]}'",
        )
        self.lost = tuple(lost)


def check_rows(plan: Plan, moments: Moments) -> None:
    """Refuse a join without rows, or with one class. A ranking has one: its rows are pairs, the better one first."""
    label = plan.design.target.label.name
    target = plan.design.target
    lacking = isinstance(target, Classes) and target.lacking
    if moments.n_unlabelled > 0 and not lacking:
        raise DataError(
            f"the label {label} is NULL in {moments.n_unlabelled:,.0f} rows of the join",
            hint="leave them out: --nulls mean or drop, or WHERE ... IS NOT NULL in the query",
        )
    check_some(plan, moments)
    if moments.label:
        check_label(plan, moments.label)
        return
    if isinstance(target, Classes):
        lost = [name for name, n in zip(target.names, moments.of_codes, strict=True) if not n > 0]
        if lost and not lacking:
            raise LostClasses(target, lost)
        return
    if plan.design.constant is None:
        return
    for n, missing in ((moments.n_negative, "negative"), (moments.n - moments.n_negative, "positive")):
        if not n > 0:
            raise Lacking(
                f"the label {label} has one class only: no row of the join is {missing}",
                hint="sqlsvm inspect shows the classes before and after the join",
            )


def check_repeated(plan: Plan, catalog: Catalog, named: Collection[str]) -> None:
    """Refuse a feature with a category for each row of the label's relation, unless it is named as categorical: its
    weights say nothing of any other row. Where there are few rows, it does little harm."""
    label, asked = plan.tree.query.label_relation, {name.lower() for name in named}
    for d in plan.design.dictionaries:
        if d.relation != label or len(d.categories) < MANY or d.limited or d.feature.lower() in asked:
            continue
        if len(d.categories) >= catalog.rows(label):
            rows = f"{len(d.categories):,} rows"
            raise DataError(
                f"feature {d.feature} has another value in each of {rows}: one says nothing of the others",
                hint=f"leave it out of the query; --categorical {d.feature} gives each value a weight all the same",
            )


def check_some(plan: Plan, moments: Moments) -> None:
    """Refuse a join without rows."""
    if not moments.n > 0:
        weight, held = plan.design.weight, plan.tree.query.held_out is not None
        what = f"no row of the join has a {weight.name} above 0, or there is none" if weight else "the join has no rows"
        hint = "hold out another share: --holdout 0.2" if held else "sqlsvm inspect shows which key loses them"
        raise Lacking(what, hint=hint)


def check_label(plan: Plan, found: LabelMoments) -> None:
    """Refuse a label with NaN, infinity, or squares that are too large for a double."""
    label = plan.design.target.label.name
    if not isfinite(found.total):
        raise DataError(
            f"the label {label} is NaN or infinite in some rows of the join",
            hint=f"leave those rows out: WHERE {label} BETWEEN -1e100 AND 1e100",
        )
    if not isfinite(found.squares):
        raise DataError(
            f"the label {label} has numbers whose squares are too large for a double",
            hint=f"change its size in the query: {label} / 1e100 AS {label}",
        )
