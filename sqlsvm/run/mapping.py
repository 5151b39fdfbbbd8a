"""The maps that options ask for, with their constants: facts about the data, or learned from rows with their labels."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sqlsvm.engine.base import Values
from sqlsvm.maps.asked import ExamplesOf, LabelledOf, LabelledRows, OfJoin
from sqlsvm.maps.kinds import resolved
from sqlsvm.maps.mapped import Mapped, known
from sqlsvm.maps.trees import ROWS
from sqlsvm.neural.training import Examples
from sqlsvm.options import INDICATOR, MEANS, NUMBER_LOSSES, ClassWeights
from sqlsvm.plan.design import OTHER, without_other
from sqlsvm.plan.plan import Bag, Plan
from sqlsvm.plan.preflight import ProblemOptions, naming_features
from sqlsvm.plan.scaling import Element, Scaling
from sqlsvm.plan.target import Target, numbers_in
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import TIME
from sqlsvm.query.rewrites import rewritten
from sqlsvm.query.rewrites.meet import finds
from sqlsvm.query.rewrites.split import HeldOut, grouped, marked, telling
from sqlsvm.run.components import axes_of
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.derived import reading
from sqlsvm.run.folding import prepared_part
from sqlsvm.run.in_memory import GROWS, Drawn
from sqlsvm.run.offload import brought
from sqlsvm.run.sampling import drawn_sample
from sqlsvm.run.training import Training
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.rows import SampleRows

HOW: Any = {"scale": "standard", "intercept": True}


def examples_of(
    facts: Facts,
    query: FeatureQuery,
    options: ProblemOptions,
    seed: int,
    *,
    offload: bool | None = None,
    held: HeldOut | None = None,
) -> tuple[ExamplesOf, LabelledOf]:
    """Rows that are held out are none. Of networks, all classes have as many examples, and none has a NULL. Of trees,
    half of the rows are examples, the earlier half if they have times: the others choose how to train."""
    if isinstance(options, Training) and options.takes_numbers and numbers_in(facts.engine, query):
        options = options.of_numbers()
    weights: ClassWeights = "none" if options.loss in NUMBER_LOSSES else "balanced"
    bare = replace(options, map=(), top=(), by=None, constrain=(), **HOW)
    of_networks = replace(bare, nulls="drop", class_weight=weights)
    of_trees = replace(bare, nulls="mean" if options.nulls in MEANS else "drop")
    by, gap = (options.split_by, options.gap) if isinstance(options, Training) else (None, None)

    def examples(columns: Sequence[Feature], size: int) -> Examples:
        rows = replace(marked(held)(query, facts), features=tuple(columns))
        with _opened(facts, rows, of_networks, offload, held) as problem:
            return _examples(problem, drawn_sample(problem, int(min(size, problem.rows)), seed), columns)

    def labelled(columns: Sequence[Feature], size: int) -> LabelledRows:
        rows = replace(rewritten(query, facts, marked(held), telling(by)), features=tuple(columns))
        with _opened(facts, rows, of_trees, offload, held) as problem:
            problem = replace(problem, plan=problem.plan.telling)
            drawn, time = drawn_sample(problem, int(min(GROWS * size, problem.rows)), seed), query.time
            if (before := drawn.middle) is not None and time:
                far = drawn.grows(before - time.span(gap)) | (drawn.marks[TIME] >= before)
                drawn = drawn.take(np.flatnonzero(far))
            return _labelled(problem, drawn, columns, before, partial(finds, rows, facts))

    return examples, labelled


@contextmanager
def _opened(
    facts: Facts, rows: FeatureQuery, options: ProblemOptions, offload: bool | None, held: HeldOut | None
) -> Iterator[Data]:
    engine, rows = facts.engine, replace(rows, audited=())
    with (
        naming_features(engine, rows),
        brought(engine, rows, offload) as (here, rows),
        reading(here, rows) as (work, rows),
    ):
        yield prepared_part(work, rows, options, held, "train") if held else prepared(work, rows, options)


def _labelled(
    problem: Data, drawn: Drawn, columns: Sequence[Feature], before: float | None, finds: Callable[[str, str], bool]
) -> LabelledRows:
    """In an order that does not depend on how they were read. A bag has the columns of each relation of which its rows
    find one row, also of those that fold into another one."""
    design, target = problem.plan.design, problem.plan.design.target
    nulls = {c.feature: c.column for c in design.coordinates if c.role == "missing"}
    found: dict[str, Values] = {}
    for e in problem.scaling.numbers:
        if e.feature:
            values = _values(problem.scaling, drawn.rows, e)
            gone = drawn.marks[nulls[e.feature]] if e.feature in nulls else False
            found[e.feature] = np.where(gone, np.nan, values)
    for d in design.dictionaries:
        if all(type(category) in (str, int) for category in without_other(d.categories)):
            known = np.array([*d.categories, None], dtype=object)
            places = drawn.rows.ones[:, d.number] - (d.offset - problem.scaling.unkept)
            found[d.feature] = known[np.where(drawn.rows.ones[:, d.number] < drawn.rows.width, places, -1)]
            found[d.feature][found[d.feature] == OTHER] = None
    kinds, plan = {f.name: f.kind for f in columns}, problem.plan
    y = _alike(drawn.codes, target)
    keys = (np.array([str(v) for v in found[n]]) if kinds[n] == "categorical" else found[n] for n in found)
    order = np.lexsort((*keys, *y.T))
    relations = {f.name: f.relation for f in columns}
    by_label = sorted(plan.bags, key=lambda bag: plan.label_node not in bag.nodes)
    own = [[name for name in found if _has(plan, bag, relations[name], finds)] for bag in by_label]
    columns_of = {name: found[name][order] for each in own for name in each}
    signed, bags = target.signed or target.classes > 0, [each for each in own if each]
    grows = drawn.grows(before)[order]
    return LabelledRows(columns_of, kinds, bags, y[order], signed, grows, before, problem.rows <= GROWS * ROWS)


def _has(plan: Plan, bag: Bag, alias: str, finds: Callable[[str, str], bool]) -> bool:
    aliases = [alias for node in bag.nodes for alias in plan.tree.nodes[node]]
    return alias in aliases or any(finds(core, alias) for core in plan.tree.nodes[bag.core])


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
    facts: Facts, query: FeatureQuery, options: ProblemOptions, seed: int, *, offload: bool | None, held: HeldOut | None
) -> tuple[Mapped, ...]:
    """Rows that are `held` out are no examples."""
    axes = axes_of(facts.engine, query, options, offload=offload)
    learned = examples_of(facts, grouped(query, facts), options, seed, offload=offload, held=held)
    found = resolved(facts.engine, query, options.map, seed, OfJoin(axes, *learned))
    if options.nulls == INDICATOR:
        found += tuple(known(facts, query, [name for each in found for name in each.formulas]))
    return found
