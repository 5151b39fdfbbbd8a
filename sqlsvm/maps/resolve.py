"""--map -> maps with all their constants."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlsvm.engine.base import Engine
from sqlsvm.maps.asked import Asked, OfJoin, numbers_of
from sqlsvm.maps.bins import bins
from sqlsvm.maps.dates import dates
from sqlsvm.maps.fourier import fourier
from sqlsvm.maps.hashed import hashed
from sqlsvm.maps.mapped import Mapped
from sqlsvm.maps.net import net
from sqlsvm.maps.nystroem import nystroem
from sqlsvm.maps.pca import pca
from sqlsvm.maps.poly2 import poly2
from sqlsvm.maps.spline import KNOTS, spline
from sqlsvm.query import FeatureQuery

MAPS: Mapping[str, Callable[[Asked], Mapped]] = {
    "spline": spline,
    "bins": bins,
    "poly2": poly2,
    "fourier": fourier,
    "nystroem": nystroem,
    "hash": hashed,
    "date": dates,
    "pca": pca,
    "net": net,
}
FEWEST = 3
"""A number with fewer values has no curve."""


def resolved(engine: Engine, query: FeatureQuery, maps: Sequence[str], seed: int, join: OfJoin) -> tuple[Mapped, ...]:
    """The facts that they need are read from the tables."""
    asked = [Asked(engine, query, seed, map, join) for map in maps if map != "auto"]
    found = [MAPS[each.kind](each) for each in asked]
    if "auto" in maps:
        taken = {name for each in found if each.replaces for name in each.columns}
        found += (spline(each) for each in _auto(engine, query, seed, join) if each.parts[0] not in taken)
    return tuple(found)


def _auto(engine: Engine, query: FeatureQuery, seed: int, join: OfJoin) -> Iterator[Asked]:
    """A spline of each number that has three values or more."""
    for column in (column for r in query.relations for column in numbers_of(query, r.alias)):
        asked = Asked(engine, query, seed, f"spline:{column.name}:{KNOTS}", join)
        if asked.different(column, FEWEST) == FEWEST:
            yield asked
