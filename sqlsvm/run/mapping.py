"""The maps that options ask for, with their constants, which are facts about the data."""

from sqlsvm.maps.asked import OfJoin
from sqlsvm.maps.kinds import resolved
from sqlsvm.maps.mapped import Mapped, known
from sqlsvm.options import INDICATOR
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.split import HeldOut, grouped
from sqlsvm.run.components import axes_of
from sqlsvm.run.examples import examples_of


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
