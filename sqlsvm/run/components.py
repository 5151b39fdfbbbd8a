"""The principal components of the numbers of a query, from their covariance over its join."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from sqlsvm.compile.columns import Columns, columns_of, is_number
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.maps.asked import Axes, AxesOf
from sqlsvm.options import DEFAULTS, Nulls, Scale
from sqlsvm.plan.preflight import ProblemOptions, check_scale, naming_features
from sqlsvm.plan.scaling import null_feature
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import Roles, read_query
from sqlsvm.query.rewrites.kinds import without_nulls
from sqlsvm.run.columns import JoinFacts, members_of, read_facts, read_joint, tree_of
from sqlsvm.run.derived import reading
from sqlsvm.run.offload import brought
from sqlsvm.run.training import anew
from sqlsvm.solve import eigen
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)


@dataclass(frozen=True)
class Component:
    variance: float
    ratio: float  # the share of the variance of all features
    loadings: Mapping[str, float]  # of the scaled features. Their squares add up to 1.


@dataclass(frozen=True)
class Components:
    rows: float
    scale: Scale
    variance: float  # of all scaled features together
    components: tuple[Component, ...]
    residual: float  # each variance is so near an eigenvalue of the covariance
    steps: int
    means: Mapping[str, float]
    widths: Mapping[str, float]  # a scaled feature is (x - mean) / width


@anew
@anew
def components_of(
    engine: Engine, query: FeatureQuery, k: int, *, nulls: Nulls, scale: Scale, offload: bool | None = None
) -> Components:
    """From one snapshot of the tables. The label is no feature, nor are categories."""
    check_scale(query, scale)
    if not any(map(is_number, query.features)):
        raise OptionError("the query has no feature that is a number", hint="components are of numbers and booleans")
    query = without_nulls(query, Facts(engine)) if nulls == "drop" else query
    with (
        naming_features(engine, query),
        brought(engine, query, offload) as (here, query),
        reading(here, query) as (work, query),
    ):
        columns = columns_of(tree_of(work, query), [f for f in query.features if is_number(f)], None)
        steps.info("reading the products of the columns")
        facts = read_facts(work, columns)
        _check(columns, facts, nulls)
        members = members_of(columns)
        joint = read_joint(work, columns, facts, tuple(members.values()), pairwise=False)
    return _components(facts, members, joint.covariance, k, scale)


def _check(columns: Columns, facts: JoinFacts, nulls: Nulls) -> None:
    if not facts.rows > 0.0:
        raise DataError("the join has no rows", hint="⟦inspect()⟧ shows which key loses them")
    for c, f in zip(columns.numbers, facts.numbers, strict=True):
        if facts.rows > f.known + f.nulls:
            raise DataError(
                f"feature {c.name} is NaN, infinite or beyond 1e100 in some rows of the join",
                hint=f"leave those rows out: WHERE {c.name} BETWEEN -1e100 AND 1e100",
            )
        if f.nulls and (nulls == "error" or c.name in columns.tree.query.sums):
            raise null_feature(c.name, c.relation, f.nulls, several=c.name in columns.tree.query.sums)


def _components(
    facts: JoinFacts, members: Mapping[str, Sequence[int]], covariance: Array, k: int, scale: Scale
) -> Components:
    widths = _widths(facts, members, covariance, scale)
    usable = np.where(widths > 0.0, widths, np.inf)
    scaled = covariance / np.outer(usable, usable)
    found, total = eigen.largest(scaled, min(k, len(scaled))), float(np.trace(scaled))
    made = tuple(
        Component(float(v), float(v) / total if total else 0.0, dict(zip(members, column.tolist(), strict=True)))
        for v, column in zip(found.values, found.vectors.T, strict=True)
    )
    means = {
        name: sum(facts.numbers[i].mean if facts.numbers[i].known else 0.0 for i in own)
        for name, own in members.items()
    }
    return Components(
        facts.rows,
        scale,
        total,
        made,
        found.residual,
        found.steps,
        means,
        dict(zip(members, widths.tolist(), strict=True)),
    )


def _widths(facts: JoinFacts, members: Mapping[str, Sequence[int]], covariance: Array, scale: Scale) -> Array:
    """0 for a constant, which has no part in any component."""
    spread = (np.diag(covariance) > 0.0).astype(float)
    if scale == "none":
        return spread
    if scale == "standard":
        found: Array = np.sqrt(spread * np.diag(covariance))
        return found
    ends = [facts.numbers[own[0]] for own in members.values()]
    sizes: Array = spread * [max(abs(f.least), abs(f.largest)) for f in ends]
    return sizes


FLAT = 1e-10  # a component with a smaller share of the variance comes from rounding


def axes_of(engine: Engine, query: FeatureQuery, options: ProblemOptions, *, offload: bool | None = None) -> AxesOf:
    """As a map reads them, of numbers that are scaled as the training scales features."""

    def axes(k: int) -> Axes:
        found = components_of(engine, query, k, nulls=options.nulls, scale=options.scale, offload=offload)
        widths, rows = found.widths.items(), (c.loadings for c in found.components if c.ratio > FLAT)
        loadings = (tuple(row[name] / width if width else 0.0 for name, width in widths) for row in rows)
        return Axes(tuple(found.means), tuple(found.means.values()), tuple(loadings))

    return axes


K = 5


def components(
    engine: Engine,
    text: str,
    *,
    k: int = K,
    nulls: Nulls = DEFAULTS["nulls"],
    scale: Scale = DEFAULTS["scale"],
    offload: bool | None = None,
    **roles: Unpack[Roles],
) -> Components:
    query = read_query(engine, text, **roles)
    return components_of(engine, query, k, nulls=nulls, scale=scale, offload=offload)


def as_json(found: Components) -> dict[str, Any]:
    """The object that `components --json` prints."""
    return {**vars(found), "components": [vars(c) for c in found.components]}
