"""What `describe` says of a world, next to the rows of its join."""

from collections import Counter

import numpy as np
import pytest

from sqlsvm.ask.describe import ColumnFacts, Description, describe
from sqlsvm.compile.columns import QUANTILES
from sqlsvm.engine.base import Engine, Values
from tests.ground.reference import Joined, Reference
from tests.ground.world import World

FEW = 3
"""Categories that are asked for."""


def compared(engine: Engine, world: World, *, offload: bool = False) -> Description:
    """Every figure of a world that is in the database. The label of a world has two values."""
    label = world.label.name if world.label else None
    found = describe(engine, world.query(engine.dialect), label=label, top=FEW, offload=offload)
    rows = Reference(engine, world).joined
    assert found.rows == rows.rows
    named = {engine.fold(name, True): values for name, values in rows.features.items()}
    for f in found.features:
        if f.name != found.label:
            _compare(f, named[engine.fold(f.name, True)], rows)
    numbers = [named[engine.fold(n, True)].astype(float) for n in found.numbers if n != found.label]
    for i, x in enumerate(numbers):
        for j, y in enumerate(numbers):
            _same(found.correlations[i, j], correlation(x, y))
    return found


def _compare(f: ColumnFacts, values: Values, rows: Joined) -> None:
    y = None if rows.label is None else (rows.label > rows.label.min(initial=np.inf)).astype(float)
    if y is not None and rows.label is not None:
        y[np.isnan(rows.label)] = np.nan
    if f.kind == "categorical":
        _compare_categories(f, values)
        return
    x = values.astype(float)
    known = x[~np.isnan(x)]
    assert (f.nulls, f.odd) == (np.isnan(x).sum(), 0)
    if not len(known):
        assert (f.mean, f.least, f.correlation) == (None, None, None)
        return
    assert (f.least, f.largest) == (known.min(), known.max())
    assert f.mean == pytest.approx(known.mean(), rel=1e-11, abs=1e-11)
    assert f.deviation == pytest.approx(known.std(), rel=1e-7, abs=1e-9)
    if f.kind == "numeric":
        wanted = np.quantile(known, [q * (1 - 1e-12) for q in QUANTILES], method="inverted_cdf")
        assert list(f.quantiles.values()) == wanted.tolist()
    assert f.histogram
    assert sum(f.histogram.rows) == len(known)
    if y is not None:
        _same(np.nan if f.correlation is None else f.correlation, correlation(x, y))


def _compare_categories(f: ColumnFacts, values: Values) -> None:
    counts = Counter(v for v in values.tolist() if v is not None)
    assert f.distinct == len(counts)
    assert f.nulls == len(values) - counts.total()
    assert [c.rows for c in f.categories] == sorted(counts.values(), reverse=True)[:FEW]


def correlation(x: Values, y: Values) -> float:
    """Over the rows where both are known, as SQL's corr."""
    both = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[both], y[both]
    if not len(x) or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def _same(found: float, wanted: float) -> None:
    if np.isnan(wanted):
        assert np.isnan(found)
    else:
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-7)
