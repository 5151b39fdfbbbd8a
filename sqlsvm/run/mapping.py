"""The maps that options ask for, with their constants, which are facts about the data."""

from sqlsvm.engine.base import Engine
from sqlsvm.maps.asked import OfJoin
from sqlsvm.maps.mapped import Mapped
from sqlsvm.maps.resolve import resolved
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import FeatureQuery
from sqlsvm.run.components import axes_of
from sqlsvm.run.examples import examples_of
from sqlsvm.run.holdout import Holdout


def maps_asked(
    engine: Engine,
    query: FeatureQuery,
    whole: FeatureQuery,
    options: ProblemOptions,
    seed: int,
    *,
    offload: bool | None,
    held: Holdout | None,
) -> tuple[Mapped, ...]:
    """`whole`: the query with the column that makes groups. Rows that are `held` out are no examples."""
    axes = axes_of(engine, query, options, offload=offload)
    examples = examples_of(engine, whole, options, seed, offload=offload, held=held)
    return resolved(engine, query, options.map, seed, OfJoin(axes, examples))
