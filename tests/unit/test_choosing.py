"""Choosing the penalty and the loss by rows that a training has not seen, on arrays."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sqlsvm.query.ir import ROW
from sqlsvm.run.choosing import most_of
from sqlsvm.run.drawn import Drawn
from sqlsvm.solve import dane
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.choosing import STRENGTHS, Candidate, Measuring, Part, Tried, choose, path, simplest, taken
from sqlsvm.solve.loss import named
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.rounding import EXACT
from sqlsvm.solve.rows import SampleRows
from sqlsvm.solve.rows_oracle import RowsOracle


def candidate(name: str, x: Array, y: Array) -> Candidate:
    loss = named(name)
    signs, origins = (np.ones(len(y)), y) if loss.origin is None else (y, np.full(len(y), loss.origin))
    rows = SampleRows(x, np.zeros((len(y), 0), dtype=np.int64), x.shape[1])
    return Candidate(name, loss, [Sample(rows, signs, origins, np.ones(len(y)))], lambda s: [L2(s)])


def parts(n: int, k: int = 5) -> list[Part]:
    fold = np.arange(n) % k
    return [Part(np.flatnonzero(fold != part), np.flatnonzero(fold == part)) for part in range(k)]


def forward(n: int, k: int = 5) -> list[Part]:
    ends = [n * (part + 1) // (k + 1) for part in range(k + 1)]
    return [Part(np.arange(low), np.arange(low, high)) for low, high in pairwise(ends)]


def ordered(candidate: Candidate, scores: Array, rows: Indices) -> float:
    """AUC, pair by pair."""
    own = candidate.samples[0].signs[rows]
    above = np.sign(scores[0][own > 0][:, None] - scores[0][own < 0])
    return float((above.mean() + 1.0) / 2.0)


def off(candidate: Candidate, scores: Array, rows: Indices) -> float:
    return float(np.abs(candidate.samples[0].origins[rows] - scores[0]).mean())


def by(*each: Callable[[Candidate, Array, Indices], float]) -> Callable[[Candidate, Array, Indices], list[float]]:
    return lambda *of: [one(*of) for one in each]


AUC, MAE = Measuring(by(ordered)), Measuring(by(off), smaller=True)


def test_of_many_columns_that_say_nothing_the_weakest_penalty_is_not_the_best() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 60))
    y = np.where(x[:, 0] + x[:, 1] + 2.0 * rng.normal(size=400) > 0.0, 1.0, -1.0)
    found = choose([candidate("hinge", x, y)], parts(400), AUC)
    by = {each.strength: each.mean for each in found.tried}
    assert found.chosen.strength >= 0.01
    assert by[found.chosen.strength] > by[1e-5] + 0.01


@pytest.mark.parametrize(("times", "most"), [(1, 20_000), (2, 40_000), (10, 80_000)])
def test_where_the_join_repeats_rows_more_of_it_are_looked_at(times: int, most: int) -> None:
    n = 50 * times
    rows = SampleRows.of(np.zeros((n, 1)))
    assert most_of(Drawn(rows, np.zeros(n), np.ones(n), marks={ROW: np.arange(n) // times})) == most


def test_of_columns_that_matter_a_strong_penalty_is_not_the_best() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(600, 3)) * [1.0, 1.0, 0.1]
    y = 3.0 * x[:, 0] + 30.0 * x[:, 2] + 0.1 * rng.normal(size=600)
    found = choose([candidate("absolute", x, y)], parts(600), MAE)
    assert found.chosen.strength <= 1e-3
    assert found.chosen.mean < 0.2


def test_what_holds_later_decides_if_parts_go_forward() -> None:
    """A column that tells groups of rows apart helps where they are in both parts, and not later."""
    rng = np.random.default_rng(3)
    n, each = 1200, 20
    group = np.arange(n) // each
    own = np.eye(n // each)[group]
    x = np.hstack([rng.normal(size=(n, 1)), 3.0 * own])
    y = np.where(0.7 * x[:, 0] + 2.0 * rng.normal(size=n // each)[group] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    at_random = choose([candidate("logistic", x, y)], parts(n), AUC).chosen
    later = choose([candidate("logistic", x, y)], forward(n), AUC).chosen
    assert at_random.strength < later.strength
    assert at_random.mean > later.mean + 0.05


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic", "modified_huber"])
def test_a_path_has_the_measures_of_trainings_with_a_proof(name: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(500, 8))
    y = np.where(x[:, 0] - x[:, 3] + rng.normal(size=500) > 0.3, 1.0, -1.0)
    one, (part, *_) = candidate(name, x, y), parts(500)
    strengths = (1.0, 0.1, 0.01, 0.001)
    found = path(one, [part], AUC, strengths)
    for each in found:
        rest = taken(one.samples[0], part.rest)
        proven = dane.solve(RowsOracle(rest, one.loss, L2(each.strength), EXACT), L2(each.strength))
        assert proven.converged
        measured = ordered(one, x[None, part.measured] @ proven.beta, part.measured)
        assert each.values[0] == pytest.approx(measured, abs=0.01)


def test_the_simplest_is_within_the_error_of_the_differences() -> None:
    """The parts differ by 10 and the models by 1 in each: the error of the differences is small."""
    level = np.array([0.0, 10.0, 20.0, 30.0, 40.0])
    strong, weak = (Tried("absolute", s, tuple(level + more)) for s, more in ((1.0, 1.0), (0.1, 0.0)))
    assert simplest([strong, weak], smaller=True) == weak
    assert simplest([strong, weak]) == strong
    noisy = Tried("absolute", 1.0, tuple(level + np.array([-3.0, 4.0, -2.0, 3.0, 0.1])))
    assert simplest([noisy, weak], smaller=True) == noisy


def test_another_loss_that_is_as_good_is_not_taken() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(900, 4))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=900) > 0.0, 1.0, -1.0)
    hinge = candidate("hinge", x, y)
    found = choose([hinge, replace(hinge, name="alike")], parts(900), AUC)
    assert found.chosen.loss == "hinge"
    assert [each.strength for each in found.tried if each.loss == "hinge"] == list(STRENGTHS)
    assert [each.strength for each in found.tried if each.loss == "alike"] == [10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5]


def right(candidate: Candidate, scores: Array, rows: Indices) -> float:
    return float((np.sign(scores[0]) == candidate.samples[0].signs[rows]).mean())


def balanced(candidate: Candidate, scores: Array, rows: Indices) -> float:
    own, said = candidate.samples[0].signs[rows], np.sign(scores[0])
    return float(np.mean([(said[own == y] == y).mean() for y in (-1.0, 1.0)]))


def test_the_order_of_scores_alone_does_not_decide() -> None:
    """The strongest penalty has it right at once, and says the same class of each row."""
    rng = np.random.default_rng(7)
    x = np.column_stack([np.ones(2000), rng.normal(size=2000)])
    y = np.where(x[:, 1] + 0.7 * rng.normal(size=2000) > 1.75, 1.0, -1.0)
    losses = [candidate(name, x, y) for name in ("hinge", "squared_hinge", "logistic")]
    alone = choose(losses, parts(2000), AUC).chosen
    found = choose(losses, parts(2000), Measuring(by(ordered, right, balanced))).chosen
    assert alone.strength == 10.0
    assert found.strength < 0.5
    assert found.mean > alone.mean - 0.002
    accuracy, of_classes = (float(np.mean(each)) for each in found.others)
    assert accuracy > max((y > 0.0).mean(), (y < 0.0).mean()) + 0.01
    assert of_classes > 0.6


def test_a_loss_that_is_better_is_taken() -> None:
    """Two columns that are nearly the same, of which only the difference tells a rare class."""
    rng = np.random.default_rng(6)
    one = rng.normal(size=6000)
    other = one + 0.7 * rng.normal(size=6000)
    x = np.column_stack([np.ones(6000), one, other])
    y = np.where(rng.random(6000) < 1.0 / (1.0 + np.exp(3.2 + 1.2 * (other - one))), 1.0, -1.0)
    found = choose([candidate(name, x, y) for name in ("hinge", "squared_hinge", "logistic")], forward(6000), AUC)
    assert found.chosen.loss != "hinge"
    assert found.chosen.mean > max(each.mean for each in found.tried if each.loss == "hinge")
