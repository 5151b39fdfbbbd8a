"""What the moments and the weights of a join must be, so that something can be learnt from it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import isfinite

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.errors import DataError
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import LabelMoments, Moments
from sqlsvm.plan.target import Classes
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.rows import rows_of
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.workspace import Workspace

MANY = 1000  # categories


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
            hint="leave them out: ⟦nulls mean⟧ or drop, or WHERE ... IS NOT NULL in the query",
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
                hint="each row that WHERE keeps has the same label"
                if _is_alone(plan)
                else "⟦inspect()⟧ shows the classes before and after the join",
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
                hint=f"leave it out of the query; ⟦categorical {d.feature}⟧ gives each value a weight all the same",
            )


def _is_alone(plan: Plan) -> bool:
    """Is there no join?"""
    return len(plan.tree.query.relations) == 1


def check_some(plan: Plan, moments: Moments) -> None:
    """Refuse a join without rows."""
    if not moments.n > 0:
        weight, held = plan.design.weight, plan.tree.query.held_out is not None
        what = f"no row of the join has a {weight.name} above 0, or there is none" if weight else "the join has no rows"
        lost = (
            "the table is empty, or WHERE or ⟦nulls drop⟧ keeps none of it"
            if _is_alone(plan)
            else "⟦inspect()⟧ shows which key loses them"
        )
        hint = "hold out another share: ⟦holdout 0.2⟧" if held else lost
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


def check_weight(work: Workspace, query: FeatureQuery, plan: Plan) -> None:
    if plan.design.weight is not None:
        check_weight_of(work, query, plan.design.weight, lambda mark: _total(work, plan, mark))


def check_weight_of(work: Workspace, query: FeatureQuery, weight: Feature, total: Callable[[Feature], float]) -> None:
    """Check the rows of its relation. If some are wrong, check the join, which may leave them out: `total` is that of
    another weight."""
    w, rows = sql.column("w"), rows_of(query, weight.relation, [(weight.expression.copy(), "w")])
    counts = [(sql.total(_one_if(sql.is_null(w))), "missing"), (sql.total(_one_if(is_odd(w))), "odd")]
    found = work.engine.fetch(sql.select(counts, sql.derived(rows, "r")))
    own = weight.expression.sql(query.dialect)

    def in_the_join(bad: Callable[[exp.Expression], exp.Expression]) -> float:
        """How many rows have such a weight: the total if these weigh 1 and the others 0."""
        return total(replace(weight, expression=_one_if(bad(weight.expression))))

    if found["odd"][0] > 0 and (n := in_the_join(is_odd)):
        raise DataError(
            f"the weight {weight.name} is negative, NaN or infinite in {n:,.0f} rows of the join",
            detail="the proofs need weights of at least 0",
            hint=f"leave them out: WHERE {own} >= 0 AND {own} < 'Infinity'",
        )
    if found["missing"][0] > 0 and (n := in_the_join(sql.is_null)):
        raise DataError(
            f"the weight {weight.name} is NULL in {n:,.0f} rows of the join",
            hint=f"say how much they count: COALESCE({own}, 1) AS {weight.name}; or leave them out: ⟦nulls drop⟧",
        )


def is_odd(w: exp.Expression) -> exp.Expression:
    """NOT (w >= 0 AND w < infinity). On both engines NaN is greater than all numbers. A NULL is not odd."""
    number, infinity = sql.double(w.copy()), sql.double(exp.Literal.string("Infinity"))
    not_negative = sql.at_least(number, 0)
    return exp.not_(exp.and_(not_negative, sql.less(number.copy(), infinity)))


def _total(work: Workspace, plan: Plan, mark: Feature) -> float:
    """Of the rows of the join, if a row weighs this."""
    design = plan.design
    marked = replace(design, weight=mark, target=replace(design.target, class_weights=(1.0, 1.0)))
    marking = replace(plan, design=marked)
    with work.scratch():
        work.run(working_tables(marking))
        return read_moments(work, marking, frozenset({"total"})).n


def _one_if(condition: exp.Expression) -> exp.Expression:
    return sql.case(condition, 1.0, 0.0)
