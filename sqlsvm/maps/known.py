"""--nulls mean+indicator: whether a number is known, as a column of its own."""

from collections.abc import Collection, Iterator
from itertools import count

from sqlsvm.maps.mapped import KNOWN, Mapped
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts


def known(facts: Facts, query: FeatureQuery, taken: Collection[str]) -> Iterator[Mapped]:
    """For each number that can be NULL a column that is 1 where it is not, and else 0. `taken`: names of other maps."""
    names = {f.name for f in query.outputs} | set(taken)
    for f in query.features:
        if f.kind == "categorical" or f.name in query.sums:
            continue
        if facts.may_be_null(query.relation(f.relation), f.expression):
            booleans = (f.name,) if f.kind == "boolean" else ()
            name = next(n for n in _names(f.name) if n not in names)
            yield Mapped(f"{KNOWN}{f.name}", (f.name,), {name: "1.0e0"}, replaces=False, booleans=booleans)


def _names(feature: str) -> Iterator[str]:
    return (f"{feature}_known{n if n > 1 else ''}" for n in count(1))
