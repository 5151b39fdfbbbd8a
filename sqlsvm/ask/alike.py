"""Pairs of columns that are nearly the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlsvm.compile.columns import columns_of, is_number
from sqlsvm.plan.join_tree import JoinTree
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.run.columns import members_of, read_facts, read_joint
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.terminal import printable

SAME = 0.999
MOST = 100
"""Numbers that `inspect` compares. All pairs of 400 take two minutes, where counting the join takes a second."""


@dataclass(frozen=True)
class Alike:
    first: str
    second: str
    correlation: float

    @property
    def said(self) -> str:
        both = f"{printable(self.first)} and {printable(self.second)}"
        return f"{both} are nearly the same: their correlation is {self.correlation:.6g}"


def alike(names: Sequence[str], correlations: Array) -> Iterator[Alike]:
    for i, second in enumerate(names):
        for j, first in enumerate(names[:i]):
            if abs(r := float(correlations[i, j])) > SAME:
                yield Alike(first, second, r)


def too_many(query: FeatureQuery) -> bool:
    return len({f.name for f in _numbers(query)}) > MOST


def _numbers(query: FeatureQuery) -> list[Feature]:
    return [f for f in query.features if is_number(f)]


def alike_in_join(work: Workspace, tree: JoinTree) -> tuple[Alike, ...]:
    """Among the features that are numbers, if they are not too many."""
    features = _numbers(tree.query)
    if too_many(tree.query) or len({f.name for f in features}) < 2:
        return ()
    with work.scratch():
        columns = columns_of(tree, features, None)
        members = members_of(columns)
        joint = read_joint(work, columns, read_facts(work, columns), tuple(members.values()))
    return tuple(alike(tuple(members), joint.correlations))
