"""--nulls mean+indicator: whether a number is known, as a column of its own."""

from collections.abc import Collection, Iterator
from itertools import count

from sqlsvm.maps.mapped import KNOWN, Mapped
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts


def known(facts: Facts, query: FeatureQuery, taken: Collection[str]) -> Iterator[Mapped]:
    """For each number that can be NULL. `taken`: names of other maps."""
    names = {f.name for f in query.outputs} | set(taken)
    for f in query.features:
        if f.kind == "categorical" or f.name in query.sums:
            continue
        if facts.may_be_null(query.relation(f.relation), f.expression):
            yield indicator(f.name, names, is_boolean=f.kind == "boolean")


def indicator(name: str, taken: Collection[str], *, is_boolean: bool) -> Mapped:
    """A column that is 1 where this one is not NULL, and else 0."""
    names = (f"{name}_known{n if n > 1 else ''}" for n in count(1))
    own = next(n for n in names if n not in taken)
    return Mapped(f"{KNOWN}{name}", (name,), {own: "1.0e0"}, replaces=False, booleans=(name,) if is_boolean else ())
