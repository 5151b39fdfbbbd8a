"""A problem in place and the same one offloaded, by names that both have: coordinates by feature and category."""

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from sqlsvm.engine.base import Engine, Values
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import FeatureQuery
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.offload import offloaded
from sqlsvm.run.opening import labelled
from sqlsvm.run.workspace import workspace

BUCKETS = 16


@dataclass(frozen=True)
class Found:
    """What a problem says of its rows: sizes, moments of each feature, and one cut."""

    sizes: tuple[float, ...]
    moments: dict[str, Values]
    slope: dict[str, float]
    cut: tuple[float, ...]

    def same_as(self, other: "Found") -> bool:
        """Up to rounding. What is zero everywhere, a category of rows that meet nothing, may be left out."""
        nothing = np.zeros(4)
        return (
            np.allclose(self.sizes, other.sizes)
            and np.allclose(self.cut, other.cut)
            and all(
                np.allclose(self.moments.get(name, nothing), other.moments.get(name, nothing))
                for name in {*self.moments, *other.moments}
            )
            and all(
                np.isclose(self.slope.get(name, 0.0), other.slope.get(name, 0.0))
                for name in {*self.slope, *other.slope}
            )
        )


def both(engine: Engine, text: str, options: ProblemOptions) -> tuple[Found, Found]:
    query = labelled(engine, text, options)
    here = found(engine, query, options)
    with offloaded(engine, query) as (local, copied):
        return here, found(local, copied, options)


def found(engine: Engine, query: FeatureQuery, options: ProblemOptions) -> Found:
    with workspace(engine) as work:
        problem = prepared(work, query, options)
        oracle, m = JoinOracle(problem), read_moments(work, problem.plan)
        names = [name for name, _ in _features(problem)]
        beta = np.array([np.sin(crc32(name.encode())) for name in names])
        cut = oracle.pass_(beta, None if oracle.exact else BUCKETS)
        table = np.array([m.total, m.squares, m.largest, m.total_negative]).T
        return Found(
            (m.n, m.n_negative),
            {name: table[index] for name, index in _features(problem)},
            dict(zip(names, cut.slope.tolist(), strict=True)),
            (cut.offset, cut.value_low, cut.error),
        )


def _features(problem: Data) -> Iterator[tuple[str, int]]:
    """The features that beta is over, each with its place among the moments."""
    for e in problem.scaling.elements():
        yield e.feature if e.category is None else f"{e.feature}={e.category!r}", e.index
