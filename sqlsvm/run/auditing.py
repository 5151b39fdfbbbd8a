"""Columns that scores must not depend on: their covariances with every coordinate, over the virtual join."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from sqlsvm import sql
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.moments import category_products_name, covariances, products_name
from sqlsvm.errors import DataError
from sqlsvm.plan.design import Coordinate, Design, with_top
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.plan.scaling import Moments
from sqlsvm.plan.target import Target
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.run.checks import check_some
from sqlsvm.run.measuring import read_moments, read_top
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array

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
            hint=f"say what that means: fair:COALESCE({name}, 0):..., or --nulls drop",
        )
    if not np.isfinite(moments.total[c.index]):
        raise DataError(f"{name} is NaN or infinite in some rows of the join", hint="leave those rows out in WHERE")
