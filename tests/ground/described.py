"""What `describe`, `components` and `inspect --heavy` say of a world, next to the rows of its join."""

from collections import Counter

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sqlglot import exp

from sqlsvm.ask.describe import ColumnFacts, Description, describe
from sqlsvm.ask.inspect import inspect
from sqlsvm.compile.columns import QUANTILES
from sqlsvm.engine.base import Engine, Values
from sqlsvm.options import Scale
from sqlsvm.run.components import Components, components
from tests.ground.reference import Joined, Reference, naive
from tests.ground.world import World
from tests.typed import asked

FEW = 3
"""Categories that are asked for."""


def compared(engine: Engine, world: World, *, offload: bool = False) -> Description:
    """Every figure of a world that is in the database. The label of a world has two values."""
    label = world.label.name if world.label else None
    found = describe(engine, world.query(engine.dialect), label=label, values=FEW, offload=offload)
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


# -- components --------------------------------------------------------------------------------------------------------


def compared_components(engine: Engine, world: World, scale: Scale, *, offload: bool = False) -> int:
    """Those of all numbers, where a NULL is the mean; how many there are: none without a number, or without a row."""
    rows = Reference(engine, world).joined
    names = [f.name for f in world.features if f.kind != "categorical"]
    x = np.column_stack([np.zeros((rows.rows, 0)), *(rows.features[name].astype(float) for name in names)])
    if not rows.rows or not x.shape[1]:
        return 0
    label, text = world.label.name if world.label else None, world.query(engine.dialect)
    there = ~np.isnan(x)
    means = np.where(there, x, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    found = components(engine, text, k=3, label=label, nulls="mean", scale=scale, offload=offload)
    agrees(found, np.where(there, x, means))
    return len(found.components)


def agrees(found: Components, rows: Values) -> None:
    """Up to the sign, where an eigenvalue is apart from the others."""
    widths = np.array(list(found.widths.values()))
    scaled = (rows - rows.mean(axis=0)) / np.where(widths > 0.0, widths, np.inf)
    peer = PCA(svd_solver="full").fit(scaled) if np.ptp(scaled, axis=0).any() else None
    values = np.zeros(len(widths))
    if peer is not None:
        some = peer.explained_variance_ * (len(rows) - 1) / len(rows)
        values[: len(some)] = some
    near = 1e-8 * max(1.0, found.variance)
    np.testing.assert_allclose([c.variance for c in found.components], values[: len(found.components)], atol=near)
    assert found.variance == pytest.approx(values.sum(), abs=near)
    for n, c in enumerate(found.components):
        apart = np.abs(np.delete(values, n) - values[n]).min(initial=np.inf)
        if peer is not None and apart > 1e-4 * max(found.variance, 1e-9) and n < len(peer.components_):
            own = np.array(list(c.loadings.values()))
            assert abs(own @ peer.components_[n]) == pytest.approx(1.0, abs=1e-7)


# -- heavy keys --------------------------------------------------------------------------------------------------------


def compared_heavy(engine: Engine, world: World) -> int:
    """How many edges have some."""
    found = inspect(engine, world.query(engine.dialect), label=world.label.name if world.label else None, heavy=FEW)
    for place, heavy in found.heavy.items():
        variables = [found.tree.variables[v] for v in found.tree.edges[place].on]
        columns = [next(iter(v.terms)).expression for v in variables]
        keys = [exp.alias_(column.copy(), f"k{n}") for n, column in enumerate(columns)]
        with naive(engine):
            rows = asked(engine, world.select(keys))
        sizes = Counter(zip(*(column.tolist() for column in rows.values()), strict=True))
        assert [k.rows for k in heavy.keys] == sorted(sizes.values(), reverse=True)[:FEW]
        assert heavy.others == sizes.total() - sum(k.rows for k in heavy.keys)
    return len(found.heavy)
