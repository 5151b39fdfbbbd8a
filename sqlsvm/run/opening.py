"""From the text of a query to its features, with those that maps make, and to a problem on one snapshot."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlsvm.engine.base import Engine
from sqlsvm.maps.asked import columns_of
from sqlsvm.maps.mapped import Mapped, Maps
from sqlsvm.plan.at_fault import naming_features
from sqlsvm.plan.constraints import audited
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.target import named
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rewrites import rewritten
from sqlsvm.query.rewrites.groups import by_column, grouped
from sqlsvm.query.rewrites.maps import mapped, readable
from sqlsvm.query.rewrites.split import Holdout, marked, timed
from sqlsvm.reading import made
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.derived import reading

MapsOrSeed = Sequence[Mapped] | int
"""Those of a stored model, or the seed of those that the options ask for."""


@contextmanager
def open_problem(engine: Engine, text: str, options: ProblemOptions, maps: MapsOrSeed = 0) -> Iterator[Data]:
    """Names and types are read before the snapshot, rows inside. At the end the working tables are dropped."""
    query = labelled(engine, text, options, maps)
    with naming_features(engine, query), reading(engine, query) as (work, query):
        yield prepared(work, query, options)


def maps_of(beta: Any) -> tuple[Mapped, ...]:
    """Those of weights that a user gives, if they are the JSON of a model."""
    return made(Maps, beta.get("maps", []) if isinstance(beta, Mapping) else [], "beta")


def labelled(
    engine: Engine,
    text: str,
    options: ProblemOptions,
    maps: MapsOrSeed = 0,
    *,
    offload: bool | None = None,
    held: Holdout | None = None,
) -> FeatureQuery:
    """The query as it is trained on. The column that makes groups is its last feature. `offload`: facts about the join
    are read from a copy. What maps learn from the label, they learn without the rows that are `held` out."""
    read = columns_of(options.map) if isinstance(maps, int) else [name for each in maps for name in each.columns]
    facts, query = Facts(engine), unmapped(engine, text, options, read)
    query = rewritten(query, facts, *([by_column(options.by)] if options.by else []), timed(options.time))
    if isinstance(maps, int) and options.map:
        from sqlsvm.run.mapping import maps_asked  # it takes as many modules as a training without maps

        maps = maps_asked(facts, query, options, maps, offload=offload, held=held)
    return rewritten(query, facts, mapped(() if isinstance(maps, int) else maps), grouped, marked(held))


def unmapped(engine: Engine, text: str, options: ProblemOptions, read: Sequence[str]) -> FeatureQuery:
    """The query before its maps, which read some of its columns."""
    roles = {name: getattr(options, name) for name in ("weight", "categorical", "top")}
    query = read_query(engine, text, label=named(options.label), audited=audited(options.constrain), **roles)
    return readable(read)(query, Facts(engine))
