"""From a feature query to the data of a design: the first steps of training, counting and explaining."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.joined import TIMES
from sqlsvm.compile.moments import category_products_name, covariances, needed, products_name
from sqlsvm.engine.base import Rows
from sqlsvm.errors import DataError, OptionError
from sqlsvm.options import ClassWeights
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.constraints import Covariances
from sqlsvm.plan.design import NOWHERE, Coordinate, Design, with_top
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.plan.scaling import Moments, Scaling, check_values, scaling
from sqlsvm.plan.target import Classes, Target
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.split import Split
from sqlsvm.run.centring import centred, centred_rows
from sqlsvm.run.checks import check_repeated, check_rows, check_some, check_weight
from sqlsvm.run.in_memory import Drawn, moments_in_memory, read_rows
from sqlsvm.run.in_memory import moments_of as rows_in_memory
from sqlsvm.run.measuring import read_again, read_moments, read_top, with_constants, with_products
from sqlsvm.run.small import missing_tables, small_join
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.solution import Effort

OUTPUT = "fair:{}"


def widened(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """The audited columns are the last numbers among the features: their covariances with the others are measured."""
    named = tuple(replace(f, name=OUTPUT.format(f.name)) for f in query.audited)
    return replace(query, features=(*query.features, *named), audited=())


def audited_columns(query: FeatureQuery, design: Design) -> dict[str, Coordinate]:
    """Their coordinates in the design of the widened query."""
    values = {c.feature: c for c in design.coordinates if c.role == "value"}
    return {f.name: values[OUTPUT.format(f.name)] for f in query.audited}


def own_coordinates(query: FeatureQuery, design: Design) -> list[Coordinate]:
    """Those of the query itself, in its own order."""
    audited = {OUTPUT.format(f.name) for f in query.audited}
    return [c for c in design.coordinates if c.feature not in audited]


@dataclass(frozen=True)
class Audit:
    """The plan of the widened query, and the moments of all its features."""

    work: Workspace
    query: FeatureQuery
    plan: Plan
    moments: Moments
    columns: Mapping[str, Coordinate]

    def covariances(self, column: str) -> Array:
        """With each coordinate of the plan without audited columns."""
        c = self.columns[column]
        with self.work.scratch():
            answers = self.work.run(covariances(self.plan, c, sql.number(self.mean(c))))
        design, tree = self.plan.design, self.plan.tree
        found = np.zeros(design.size)
        for o in design.coordinates:
            found[o.index] = float(answers[products_name(c, tree.node_of(o.relation))][o.column][0])
        for d in design.dictionaries:
            rows = answers[category_products_name(c, d)]
            found[rows["n"].astype(int) - 1] = rows["total"]
        found[[o.index for o in design.coordinates if o.role == "intercept"]] = 0.0  # but for rounding
        kept = [o.index for o in own_coordinates(self.query, design)]
        kept += range(len(design.coordinates), design.size)
        return found[kept] / self.moments.n

    def two_groups(self, c: Coordinate) -> bool:
        """Is the column 0 or 1 in every row?"""
        total, squares, largest = (m[c.index] for m in (self.moments.total, self.moments.squares, self.moments.largest))
        return bool(largest <= 1.0 and squares == total and 0.0 < total < self.moments.n)

    def mean(self, c: Coordinate) -> float:
        return float(self.moments.total[c.index]) / self.moments.n


@contextmanager
def audit(work: Workspace, query: FeatureQuery, options: ProblemOptions, target: Target | None) -> Iterator[Audit]:
    """Its tables are dropped at the end."""
    with work.scratch():
        plan, _ = planned(work.facts, widened(query, work.facts), options, target)
        work.run(working_tables(plan))
        plan = replace(plan, design=with_top(plan.design, read_top(work, plan)))
        moments = read_moments(work, plan)
        check_some(plan, moments)
        columns = audited_columns(query, plan.design)
        for name, c in columns.items():
            _check(plan, moments, name, c)
        yield Audit(work, query, plan, moments, columns)


def _check(plan: Plan, moments: Moments, name: str, c: Coordinate) -> None:
    indicator = plan.design.indicators.get(c.index)
    if indicator is not None and moments.total[indicator] > 0:
        raise DataError(
            f"{name} is NULL in {moments.total[indicator]:,.0f} rows of the join, so its covariance is not known",
            hint=f"say what that means: fair:COALESCE({name}, 0):..., or ⟦nulls drop⟧",
        )
    if not np.isfinite(moments.total[c.index]):
        raise DataError(f"{name} is NaN or infinite in some rows of the join", hint="leave those rows out in WHERE")


class Key(NamedTuple):
    """Which rows of a query, and what is looked for on them. Problems with the same one share their cuts: these do not
    know the penalty."""

    group: object = None  # the value of the column that makes groups; None for all rows
    fold: int | None = None  # the one that is left out, or that is measured
    code: int = 0  # of the class that is +1; 0 if there are no more than two
    loss: Loss | None = None  # with its quantile. None of rows alone.


ALL = Key()


@dataclass(frozen=True)
class Data:
    """A query on one snapshot, planned, measured and scaled: all that problems with this design have in common."""

    work: Workspace
    query: FeatureQuery  # as the user wrote it. The plan's query may leave out rows with NULLs.
    catalog: Catalog
    plan: Plan
    moments: Moments
    scaling: Scaling
    covariances: Covariances = field(default_factory=dict)  # of each audited column with the raw coordinates
    drawn: Drawn | None = None
    """All rows of the join, where they are in memory. Then nothing is asked of the database any more."""
    key: Key = ALL
    raw: Rows | None = None
    """The rows as they were read: of a part that is only measured, if it is in memory; and those of `drawn`, where sums
    over a class of several are needed, and in a group with the part of each, where folds are to come: the tables have
    more categories than these rows."""
    split: Split | None = None  # how folds in time part the rows of all groups

    @property
    def in_group(self) -> bool:
        return self.key.group is not None

    @property
    def rows(self) -> float:
        """The rows of the join; infinite with weights of the user, because N does not tell then."""
        moments = self.moments
        by_class = self.plan.design.target.by_class(moments.n, moments.n_negative, moments.of_codes)
        return inf if self.plan.design.weight else sum(by_class.values()) if by_class else moments.n


def prepared(
    work: Workspace,
    query: FeatureQuery,
    options: ProblemOptions,
    target: Target | None = None,
    effort: Effort | None = None,
    origins: Mapping[str, float] = NOWHERE,
    models: int = 1,
) -> Data:
    """Balanced class weights need a count of the classes first. If an effort is given, the rows of a join that is small
    for it, and for so many models, are read. `origins`: of the numbers of a model."""
    work.clock.begin("reading")
    plan, catalog = planned(work.facts, query, options, target)
    plan = replace(plan, design=plan.design.at_origins(origins))
    check_repeated(plan, catalog, options.categorical)
    covariances = _audited(work, query, options, plan.design.target)
    if isinstance(options.class_weight, tuple) and plan.design.target.classes:
        hint = "⟦class_weight balanced⟧ gives all classes the same total weight"
        raise OptionError("⟦class_weight⟧ with two weights is for two classes, and this label has more", hint=hint)
    counted = partial(_counted, work, catalog, options=options, effort=effort, models=models)
    plan = with_weights(plan, options.class_weight, lambda plan: _sizes(work, catalog.query, plan))
    plan, moments, rows = counted(plan)
    covariances = {name: _moved(plan.design, each) for name, each in covariances.items()}
    how = scaling(plan.design, moments, options.scale)
    drawn = None if rows is None else read_rows(how, rows, rows[TIMES].astype(float))
    raw = rows if plan.design.target.classes else None
    return Data(work, query, catalog, plan, moments, how, covariances, drawn, raw=raw)


def _moved(design: Design, covariance: Array) -> Array:
    """Of numbers less their origins: where one is missing it is 0, and was less than its origin."""
    found = covariance.copy()
    for c in design.coordinates:
        if c.origin and c.index in design.indicators:
            found[c.index] += c.origin * covariance[design.indicators[c.index]]
    return found


def _audited(work: Workspace, query: FeatureQuery, options: ProblemOptions, target: Target) -> Covariances:
    if not query.audited:
        return {}
    with audit(work, query, options, target) as found:
        return {name: found.covariances(name) for name in found.columns}


def weighted(plan: Plan, weights: tuple[float, ...]) -> Plan:
    target = replace(plan.design.target, class_weights=weights)
    return replace(plan, design=replace(plan.design, target=target))


def with_weights(plan: Plan, weights: ClassWeights, sizes: Callable[[Plan], Moments]) -> Plan:
    """With the weights of classes. Balanced ones need their sizes."""
    if weights == "balanced":
        counted = sizes(plan)
        check_rows(plan, counted)
        return weighted(plan, balanced(counted))
    return weighted(plan, weights) if isinstance(weights, tuple) else plan


def _sizes(work: Workspace, query: FeatureQuery, plan: Plan) -> Moments:
    """Those of the classes. The tables are made for it without the features, and dropped."""
    work.clock.begin("tables")
    bare = replace(plan, design=plan.design.without_features())
    with work.scratch():
        check_weight(work, query, bare)
        work.run(working_tables(bare))
        return read_moments(work, bare)


def _counted(
    work: Workspace, catalog: Catalog, plan: Plan, *, options: ProblemOptions, effort: Effort | None, models: int
) -> tuple[Plan, Moments, Rows | None]:
    """The moments, and the plan with the most frequent categories, which the tables know. The rows of a small join,
    which needs no tables."""
    work.clock.begin("tables")
    check_weight(work, catalog.query, plan)
    by_class = options.intercept == "free"
    if any(d.limited for d in plan.design.dictionaries):
        work.run(missing_tables(work, plan))
        plan = replace(plan, design=with_top(plan.design, read_top(work, plan)))
    rows = None if effort is None else small_join(work, catalog, plan.telling.from_zero, effort, models)
    if rows is None:
        work.run(missing_tables(work, plan))
    work.clock.begin("moments")
    if rows is not None:
        weights = rows[TIMES].astype(float)
        plan, rows = centred_rows(plan, rows, weights, options.scale)
        found = moments_in_memory(plan, rows, weights, options.scale, options.nulls, by_class=by_class)
        return plan, found, rows
    measured = needed(plan, options.scale, by_class=by_class)
    moments = read_moments(work, plan, measured)
    check_rows(plan, moments)
    check_values(plan.design, moments, options.nulls)
    made = centred(work, plan, moments)
    if made is not plan:
        plan, moments = made, read_again(work, made, plan, moments, measured)
    return plan, with_products(work, plan, with_constants(work, plan, moments)), None


def balanced(moments: Moments) -> tuple[float, ...]:
    """(W-, W+), or one for each class, such that all classes have the same total weight, and the average weight of a
    row is 1. One without rows, as may be without an intercept, takes no part."""
    rows = moments.of_codes or (moments.n_negative, moments.n - moments.n_negative)
    there = sum(n > 0 for n in rows)
    return tuple(moments.n / (there * n) if n > 0 else 1.0 for n in rows)


def against_others(problem: Data) -> list[Data]:
    """Each class against all others, in the order of the codes: they share everything but the signs of the rows. The
    problem itself if it has no more than two."""
    return [_against(problem, code) for code in range(1, problem.plan.design.target.classes + 1)] or [problem]


def _against(problem: Data, code: int) -> Data:
    """The sums over the rows with y = -1 are the only moments that differ."""
    plan, moments, work, target = problem.plan, problem.moments, problem.work, problem.plan.design.target
    assert isinstance(target, Classes)
    own = replace(plan, design=replace(plan.design, target=replace(target, chosen=code)))
    negative = moments.total_negative
    if problem.raw is not None:
        negative = rows_in_memory(own, problem.raw, problem.raw[TIMES].astype(float)).total_negative
    elif code != target.chosen and not np.isnan(negative).all():
        with work.scratch():
            negative = read_moments(work, own, frozenset({"negative"})).total_negative
    n_negative = sum(moments.of_codes) - moments.of_codes[code - 1]
    return replace(problem, plan=own, moments=replace(moments, n_negative=n_negative, total_negative=negative))
