"""Boosted trees: they are as good as those of a library, and their formulas say where each row goes."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss

from sqlsvm import sql
from sqlsvm.engine.base import Values
from sqlsvm.maps import formula
from sqlsvm.maps.boosting import EVERY, Boosting, Split, Tree
from sqlsvm.maps.mapped import Mapped
from sqlsvm.maps.trees import _formula
from sqlsvm.model.model import code_of
from sqlsvm.model.plain import plain
from sqlsvm.reading import made


def rows(number: int, seed: int = 0) -> tuple[Values, Values]:
    """Numbers with NULLs, whole numbers, a boolean, a constant, and a signal that no sum of columns has."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(number, 5))
    x[:, 1], x[:, 2], x[:, 3] = np.round(3 * x[:, 1]), x[:, 2] > 0.3, 7.0
    signal = x[:, 0] * x[:, 1] + 2.0 * x[:, 2] + x[:, 4]
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, signal + 2.0 * np.isnan(x[:, 3]) + rng.normal(size=number)


def half(y: Values) -> Values:
    return np.asarray(np.arange(len(y)) % 2 == 0)


def ends(tree: Tree) -> list[tuple[int, float]]:
    if not isinstance(tree, Split):
        return []
    return [(tree.column, tree.below), *ends(tree.left), *ends(tree.right)]


@pytest.mark.parametrize("signed", [True, False])
def test_trees_are_as_good_as_those_of_scikit_learn(signed: bool) -> None:
    (x, y), (others, truth) = rows(4000), rows(2000, 1)
    y, truth = (np.where(v > 1.0, 1.0, -1.0) if signed else v / 2.5 for v in (y, truth))
    boosting = Boosting(x, y[:, None], half(y), signed=signed)
    first = boosting.scores[0, 0]
    trees = boosting.grow(range(5), 12, 5)
    np.testing.assert_allclose(boosting.scores[:, 0], first + sum(t(x) for t in trees if isinstance(t, Split)))
    own = first + sum(t(others) for t in trees if isinstance(t, Split))
    asked = {"max_iter": 12, "max_leaf_nodes": 5, "early_stopping": False}
    if signed:
        peer = HistGradientBoostingClassifier(**asked).fit(x[half(y)], y[half(y)]).predict_proba(others)[:, 1]
        assert log_loss(truth, 1.0 / (1.0 + np.exp(-own))) < 1.02 * log_loss(truth, peer)
    else:
        peer = HistGradientBoostingRegressor(**asked).fit(x[half(y)], y[half(y)]).predict(others)
        assert np.mean((truth - own) ** 2) < 1.03 * np.mean((truth - peer) ** 2)


def test_a_formula_is_its_trees_on_every_row() -> None:
    """In memory and in a database, also on the ends themselves, and where a column is NULL."""
    x, y = rows(6000)
    trees = Boosting(x, y[:, None], half(y), signed=False).grow(range(5), 12, 6)
    found, others = _formula(trees, {n: n + 1 for n in range(5)}), rows(10_000, 2)[0]
    for n, (column, end) in enumerate(each for tree in trees for each in ends(tree)):
        others[n, column] = end
    expected = sum(t(others) for t in trees if isinstance(t, Split))
    np.testing.assert_allclose(formula.values(found, list(others.T)), expected, rtol=1e-12, atol=1e-14)
    assert any(end == EVERY for tree in trees for _, end in ends(tree))
    con, names = duckdb.connect(), [f"x{n}" for n in range(5)]
    con.register("given", pd.DataFrame(others, columns=names))
    nulls = ", ".join(f"CASE WHEN NOT isnan({name}) THEN {name} END AS {name}" for name in names)
    text = formula.applied(found, list(map(sql.column, names))).sql("duckdb")
    known = con.execute(f"SELECT {text} AS v FROM (SELECT {nulls} FROM given)").fetchnumpy()["v"]
    np.testing.assert_allclose(known, expected, rtol=1e-12, atol=1e-14)


def test_the_first_split_is_the_best_one() -> None:
    """By hand: of all thresholds, with NULLs on both sides."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=(300, 3)), 1)
    x[rng.random(x.shape) < 0.2] = np.nan
    y = np.where(np.isnan(x[:, 1]), 1.0, x[:, 1] > 0.4) + 0.3 * rng.normal(size=300)
    twice = np.vstack([x, x]), np.concatenate([y, y])[:, None], np.arange(600) < 300
    (tree,) = Boosting(*twice, signed=False).grow(range(3), 1, 2)
    assert isinstance(tree, Split)

    def gain(is_left: Values) -> float:
        sides = [y[is_left], y[~is_left]]
        return sum(v.sum() ** 2 / (len(v) + 1.0) for v in sides) if min(map(len, sides)) >= 20 else 0.0

    best = max(
        gain(np.where(np.isnan(x[:, c]), missing, x[:, c] < end))
        for c in range(3)
        for end in (*np.unique(x[~np.isnan(x[:, c]), c]), np.inf)
        for missing in (True, False)
    )
    values = x[:, tree.column]
    assert gain(np.where(np.isnan(values), tree.missing_left, values < tree.below)) == pytest.approx(best)


def test_trees_of_a_second_bag_begin_at_the_scores_of_the_first() -> None:
    x, y = rows(6000)
    boosting = Boosting(x, y[:, None], half(y), signed=False)
    first = boosting.grow([0, 1], 10, 4)
    left = boosting.scores.copy()
    second = boosting.grow([2, 3, 4], 10, 4)
    assert {c for t in first for c, _ in ends(t)} <= {0, 1}
    assert {c for t in second for c, _ in ends(t)} <= {2, 3, 4}
    assert np.mean((y - boosting.scores[:, 0]) ** 2) < 0.9 * np.mean((y - left[:, 0]) ** 2)


def test_codes_of_a_stored_model_are_read_again() -> None:
    each = Mapped(
        "trees:1:2", ("k", "n"), {"trees1": "$1"}, codes={"k": (("it's", -0.5), ("b", 1.0)), "n": ((7, 2.0),)}
    )
    assert made(Mapped, plain(vars(each)), "a map") == each
    assert [w.weight for w in code_of(each, "k").weights] == [-0.5, 1.0]


def test_trees_of_noise_are_none() -> None:
    """The rows that grew them would say otherwise."""
    x, _ = rows(2000)
    noise = np.random.default_rng(9).normal(size=(2000, 1))
    assert len(Boosting(x, noise, half(noise), signed=False).grow(range(5), 50, 8)) < 3
