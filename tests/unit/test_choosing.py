"""Choosing the penalty and the loss by rows that a training has not seen, on arrays."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sqlsvm.query.ir import ROW
from sqlsvm.run.choosing import cut_of, most_of
from sqlsvm.run.in_memory import Drawn
from sqlsvm.solve import dane
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.choosing import (
    STRENGTHS,
    Apart,
    Candidate,
    Measuring,
    Part,
    Path,
    Together,
    Tried,
    choose,
    path,
    simplest,
    taken,
    unseen,
)
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


AUC, MAE = Measuring(ordered), Measuring(off, smaller=True)


def test_of_many_columns_that_say_nothing_the_weakest_penalty_is_not_the_best() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 60))
    y = np.where(x[:, 0] + x[:, 1] + 2.0 * rng.normal(size=400) > 0.0, 1.0, -1.0)
    found = choose([candidate("hinge", x, y)], parts(400), AUC)
    assert found.chosen.strength >= 0.01
    assert found.tried[-1].strength > 1e-5, "the path has ended before"
    assert found.chosen.mean > found.tried[-1].mean + 0.01


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
    first, second = ([t for t in found.tried if t.loss == name] for name in ("hinge", "alike"))
    assert len(second) < len(first) < len(STRENGTHS)
    assert {t.strength for t in second} < {t.strength for t in first}
    dear = choose([hinge, replace(hinge, name="alike", price=9.0)], parts(900), AUC)
    assert (dear.chosen, dear.dearer) == (found.chosen, None)


def test_one_step_for_each_part_is_as_good_as_its_own_path() -> None:
    rng = np.random.default_rng(7)
    x = np.column_stack([np.ones(4000), rng.normal(size=(4000, 6))])
    y = np.where(x @ rng.normal(size=7) + rng.logistic(size=4000) > 0.0, 1.0, -1.0)
    every = [replace(part, share=0.8) for part in parts(4000)]
    for name in ("hinge", "squared_hinge", "logistic"):
        own = candidate(name, x, y)
        together, apart = Path(own, every, AUC), Path(own, every, AUC)
        apart._learning = [Apart(own, 0, every)]
        assert isinstance(together._learning[0], Together)
        for strength in (1.0, 0.01, 1e-4):
            assert together.at(strength).values == pytest.approx(apart.at(strength).values, abs=5e-4)


def test_lambda_times_the_rows_is_the_same_on_a_part_and_on_all() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 60))
    y = np.where(x[:, 0] + rng.normal(size=300) > 0.0, 1.0, -1.0)
    own = candidate("logistic", x, y)
    (whole,), (half,) = (path(own, [replace(p, share=s) for p in parts(300)], AUC, [0.1 * s]) for s in (1.0, 0.5))
    assert half.values == whole.values


def test_a_loss_that_is_better_is_taken_if_it_is_not_dear() -> None:
    """The first one does not see a column that matters."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(900, 3))
    y = np.where(x[:, 0] + x[:, 1] + rng.normal(size=900) > 0.0, 1.0, -1.0)
    poor, good = candidate("hinge", x[:, 1:], y), candidate("logistic", x, y)
    found = choose([poor, good], parts(900), AUC)
    assert (found.chosen.loss, found.dearer) == ("logistic", None)
    cheap = choose([poor, replace(good, price=9.0)], parts(900), AUC)
    assert cheap.chosen.loss == "hinge"
    assert cheap.dearer
    assert cheap.dearer.loss == "logistic"


def test_the_threshold_makes_more_rows_right() -> None:
    """A strong penalty leaves the intercept too small for a class that is rare."""
    rng = np.random.default_rng(9)
    x = np.column_stack([np.ones(2000), rng.normal(size=2000)])
    y = np.where(x[:, 1] + 0.3 * rng.normal(size=2000) > 0.8, 1.0, -1.0)
    own = candidate("logistic", x, y)
    strong, weak = path(own, parts(2000), AUC, [10.0, 1e-4], placing=True)
    cut = cut_of(own, strong, parts(2000))
    assert cut is not None
    (rows, (placed,)), (_, (scores,)), (_, (others,)) = (
        unseen(each, parts(2000)) for each in (strong, replace(strong, placed=()), replace(weak, placed=()))
    )
    before, after, best = (((s > c) == (y[rows] > 0)).mean() for s, c in ((scores, 0.0), (placed, cut), (others, 0.0)))
    assert after > before + 0.005
    assert after == pytest.approx(best, abs=0.01)
    assert cut_of(own, weak, parts(2000)) is None


def test_of_a_number_a_penalty_that_costs_a_thousandth_is_too_strong() -> None:
    """A class is only an order, and takes the stronger one: its gain is below one standard error."""
    tried = [Tried("squared", strength, parts) for strength, parts in ((1.0, (1.02, 4.0)), (0.1, (1.0, 4.01)))]
    assert simplest(tried, smaller=True).strength == 1.0
    assert simplest(tried, smaller=True, of_numbers=True).strength == 0.1


def test_a_hinge_with_all_rows_on_one_side_is_not_taken() -> None:
    """Its optimum is flat: many weights cost the same, and the smoothed loss finds better ones than a training."""
    rng = np.random.default_rng(9)
    x = np.column_stack([np.ones(2000), rng.normal(size=(2000, 3))])
    own = x[:, 1] + 3.0 * rng.normal(size=2000)
    for least, tells in ((4.0, False), (0.0, True)):
        found = Path(candidate("hinge", x, np.where(own > least, 1.0, -1.0)), parts(2000), AUC)
        found.at(0.01)
        assert found.tells == tells
    poor = candidate("squared_hinge", x[:, :1], np.where(own > 4.0, 1.0, -1.0))
    hinge = candidate("hinge", x, np.where(own > 4.0, 1.0, -1.0))
    assert choose([poor, hinge], parts(2000), AUC).chosen.loss == "squared_hinge"
