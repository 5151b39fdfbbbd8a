"""The maps that options ask for, with their constants: facts about the data, or learned from rows with their labels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sqlsvm.maps.asked import ExamplesOf, OfJoin
from sqlsvm.maps.kinds import resolved
from sqlsvm.maps.mapped import Mapped, known
from sqlsvm.neural.training import Examples
from sqlsvm.options import INDICATOR, NUMBER_LOSSES, ClassWeights
from sqlsvm.plan.preflight import ProblemOptions, naming_features
from sqlsvm.plan.scaling import Element, Scaling
from sqlsvm.plan.target import Target
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.split import HeldOut, grouped, marked
from sqlsvm.run.components import axes_of
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.derived import reading
from sqlsvm.run.folding import prepared_part
from sqlsvm.run.in_memory import Drawn
from sqlsvm.run.offload import brought
from sqlsvm.run.sampling import drawn_sample
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.rows import SampleRows

HOW: Any = {"nulls": "drop", "scale": "standard", "intercept": True}


def examples_of(
    facts: Facts,
    query: FeatureQuery,
    options: ProblemOptions,
    seed: int,
    *,
    offload: bool | None = None,
    held: HeldOut | None = None,
) -> ExamplesOf:
    """All classes have as many examples. Rows in which a column is NULL, and those held out, are none."""
    weights: ClassWeights = "none" if options.loss in NUMBER_LOSSES else "balanced"
    asked = replace(options, map=(), top=(), by=None, constrain=(), class_weight=weights, **HOW)

    def opened(work: Workspace, rows: FeatureQuery) -> Data:
        return prepared_part(work, rows, asked, held, "train") if held else prepared(work, rows, asked)

    def examples(columns: Sequence[Feature], size: int) -> Examples:
        rows, engine = replace(marked(held)(query, facts), features=tuple(columns), audited=()), facts.engine
        with (
            naming_features(engine, rows),
            brought(engine, rows, offload) as (here, rows),
            reading(here, rows) as (work, rows),
        ):
            problem = opened(work, rows)
            return _examples(problem, drawn_sample(problem, int(min(size, problem.rows)), seed), columns)

    return examples


def _examples(problem: Data, drawn: Drawn, columns: Sequence[Feature]) -> Examples:
    """In an order that does not depend on how they were read."""
    elements = {e.feature: e for e in problem.scaling.numbers}
    x = np.column_stack([_values(problem.scaling, drawn.rows, elements[c.name]) for c in columns])
    y = _alike(drawn.codes, problem.plan.design.target)
    order = np.lexsort((*x.T, *y.T))
    return Examples(x[order], y[order])


def _values(scaling: Scaling, rows: SampleRows, e: Element) -> Array:
    centre, width, _ = scaling.scale(e)
    return np.asarray(centre + width * rows.numbers[:, e.place].astype(float))


def _alike(codes: Array, target: Target) -> Array:
    """Columns whose inner products say how alike two labels are: -1 and 1 of two classes, for each of several classes
    whether it is that, less the mean, and a number scaled."""
    if target.classes:
        return np.asarray(np.equal.outer(codes, np.arange(1, target.classes + 1)) - 1.0 / target.classes)
    if target.signed:
        return codes[:, None]
    centred = codes - codes.mean()
    return np.asarray(centred / max(np.sqrt((centred * centred).mean()), 1e-300))[:, None]


def maps_asked(
    facts: Facts,
    query: FeatureQuery,
    options: ProblemOptions,
    seed: int,
    *,
    offload: bool | None,
    held: HeldOut | None,
) -> tuple[Mapped, ...]:
    """Rows that are `held` out are no examples."""
    axes = axes_of(facts.engine, query, options, offload=offload)
    examples = examples_of(facts, grouped(query, facts), options, seed, offload=offload, held=held)
    found = resolved(facts.engine, query, options.map, seed, OfJoin(axes, examples))
    if options.nulls == INDICATOR:
        found += tuple(known(facts, query, [name for each in found for name in each.formulas]))
    return found
