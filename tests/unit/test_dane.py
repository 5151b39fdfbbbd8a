"""The default solver: few passes, LIBLINEAR's optimum, the same digits every time."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest

from sqlsvm.errors import DataError, OptionError
from sqlsvm.options import ClassLoss
from sqlsvm.solve import bundle, dane
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.loss import named
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.rounding import EXACT
from sqlsvm.solve.rows import SampleRows
from sqlsvm.solve.rows_oracle import RowsOracle
from sqlsvm.solve.run import Run
from sqlsvm.solve.solution import Effort, Record, Solution, State
from tests import race
from tests.ground.chain import chain_oracle
from tests.ground.liblinear import liblinear_beta
from tests.ground.numpy_oracle import NumpyOracle, flat_oracle


@cache
def chain(dimension: int, discrete: bool, exact: bool) -> NumpyOracle:
    return chain_oracle(0, dimension, discrete=discrete, exact=exact)


def small(exact: bool = True) -> NumpyOracle:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (2000, 6))
    return flat_oracle(rows, np.where(rows[:, 0] + 0.5 * rng.normal(size=2000) > 0, 1.0, -1.0), exact=exact)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "grid"])
@pytest.mark.parametrize("lam", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize(
    ("dimension", "discrete", "most"), [(20, False, 5), (20, True, 6), (100, False, 8), (100, True, 8)]
)
def test_few_passes_to_a_certified_gap(dimension: int, discrete: bool, most: int, lam: float, exact: bool) -> None:
    oracle = chain(dimension, discrete, exact)
    assert len(oracle.labels) >= 100_000
    solution = dane.solve(oracle, L2(lam), Effort(tol=1e-3))
    assert solution.converged
    assert solution.certificate.gap <= 1e-3
    assert len(solution.history) <= most


def crowded(rows: int = 10_000, dimension: int = 50) -> NumpyOracle:
    """So few rows for each feature that those on the hinge at the optimum make the slope of a cut that counts whole
    rows quite wrong."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, dimension))
    return flat_oracle(x, np.where(x[:, :10].sum(axis=1) + rng.normal(size=rows) > 0, 1.0, -1.0), bags=1)


def test_thousands_of_stalls_end_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "stalls", 5000)
    assert (
        len(
            dane.solve(
                replace(crowded(), counts_whole=False), L2(1e-3), Effort(sample=3000, tol=1e-15, max_passes=4)
            ).history
        )
        == 4
    )


def test_a_sample_that_is_the_join_takes_one_pass() -> None:
    solution = dane.solve(crowded(), L2(1e-4))
    assert solution.converged
    assert len(solution.history) == 1


def test_passes_that_count_in_part_make_up_for_a_small_sample() -> None:
    options, hard = Effort(sample=3000, max_passes=10), replace(crowded(), counts_whole=True)
    assert dane.solve(crowded(), L2(1e-3), options).converged
    assert not dane.solve(hard, L2(1e-3), options).converged


def test_few_rows_of_a_sample_say_where_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them would be a solution of its own."""
    solved: list[int] = []
    minimise = LocalProblem.minimise

    def noted(self: LocalProblem, start: Array, tilt: Array, width: float, accuracy: float) -> Array:
        solved.append(len(self.rows))
        return minimise(self, start, tilt, width, accuracy)

    monkeypatch.setattr(LocalProblem, "minimise", noted)
    values = []
    for each, first in ((30, 182), (10**6, 2000)):
        monkeypatch.setattr(dane, "ROUGH_ROWS", each)
        solved.clear()
        values.append(dane.solve(small(exact=False), L2(1e-3), Effort(sample=2000)).certificate.objective)
        assert solved[0] == first
        assert set(solved[1:]) == {2000}
    assert values[0] == pytest.approx(values[1], rel=1e-3)


@pytest.mark.parametrize("lam", [1e-2, 1e-5])
def test_a_join_that_is_in_memory_is_proven_there(lam: float) -> None:
    oracle = crowded(2000)
    rows = np.hstack([block.features for block in oracle.blocks])
    drawn = replace(oracle.sample(2000, 0), rows=SampleRows(rows, np.zeros((2000, 0), dtype=np.int64), 50))
    solution = dane.solve(RowsOracle(drawn, oracle.loss, L2(lam), EXACT), L2(lam))
    assert solution.converged
    assert len(solution.history) == 1
    peer = oracle.objective(liblinear_beta(rows, oracle.labels, lam, max_iter=300), lam)
    proof = solution.certificate
    assert proof.lower_bound <= peer
    assert (
        proof.objective <= oracle.objective(solution.beta, lam) * (1.0 + 1e-12) <= proof.objective_upper * (1.0 + 2e-12)
    )


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
@pytest.mark.parametrize("name", ["hinge", "quantile", "epsilon_insensitive", "squared_hinge"])
def test_a_category_for_every_few_rows_in_memory_is_proven_at_once(name: str, tol: float) -> None:
    """Nearly all rows lie on a knot at the optimum."""
    rng, n, values = np.random.default_rng(3), 5000, 1700
    numbers = np.hstack([np.ones((n, 1)), rng.normal(size=(n, 3))])
    own = rng.integers(0, values, n)
    ones = (4 + own)[:, None]
    loss, score = named(name), numbers @ [0.0, 0.1, 0.0, 0.0] + rng.normal(size=values)[own]
    signs = np.where(score > 0, 1.0, -1.0) if loss.origin is not None else np.ones(n)
    origins = np.full(n, loss.origin) if loss.origin is not None else score
    drawn = Sample(SampleRows(numbers, ones, 4 + values), signs, origins, np.ones(n))
    solution = dane.solve(RowsOracle(drawn, loss, L2(1e-4), EXACT), L2(1e-4), Effort(tol=tol))
    assert solution.converged
    assert len(solution.history) == 1


@pytest.mark.parametrize("bends", [1e-9, 1e-5, 1e-2])
def test_a_loss_that_bends_in_a_narrow_place_is_proven_at_once(bends: float) -> None:
    """The loss of Huber is straight for nearly all rows where delta is far smaller than the label."""
    rng, n = np.random.default_rng(0), 300
    x, loss = rng.normal(size=(n, 8)), named("huber")
    label = (x[:, 0] + 0.5 * rng.normal(size=n)) / bends
    drawn = Sample(SampleRows(x, np.zeros((n, 0), dtype=np.int64), 8), np.ones(n), label, np.ones(n))
    penalty = L2(1e-3 * bends)
    solution = dane.solve(RowsOracle(drawn, loss, penalty, EXACT), penalty, Effort(max_passes=4))
    assert solution.converged
    assert len(solution.history) <= 2


def heap() -> NumpyOracle:
    """One row in five is positive, and the features hardly say which: the best score is about -1 for every row, so that
    the margins of the others lie in a heap on the hinge."""
    rng = np.random.default_rng(0)
    rows = np.hstack([np.ones((30_000, 1)), rng.normal(size=(30_000, 5)), np.eye(7)[rng.integers(0, 7, 30_000)]])
    return flat_oracle(rows, np.where(rows[:, 1] + 5.0 * rng.normal(size=30_000) > 4.3, 1.0, -1.0), bags=1)


@pytest.mark.parametrize("lam", [1e-2, 1e-4])
def test_a_heap_of_margins_on_the_hinge_takes_few_passes(lam: float) -> None:
    """With cuts that count whole rows it takes 5 and 19."""
    oracle = heap()
    solution = dane.solve(oracle, L2(lam), Effort(tol=1e-3))
    assert solution.converged
    assert len(solution.history) <= 4
    rows = np.hstack([block.features for block in oracle.blocks])
    assert solution.certificate.lower_bound <= oracle.objective(
        liblinear_beta(rows, oracle.labels, lam, max_iter=50), lam
    )
    value = oracle.objective(solution.beta, lam)
    assert solution.certificate.objective == pytest.approx(value, rel=1e-12)


def test_soft_passes_are_resumed_too() -> None:
    options = Effort(tol=1e-6, max_passes=3)
    whole = dane.solve(heap(), L2(1e-3), options)
    half = dane.solve(heap(), L2(1e-3), replace(options, max_passes=2))
    assert whole.state.widths.all()
    assert np.array_equal(dane.solve(heap(), L2(1e-3), options, state=half.state).beta, whole.beta)


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "grid"])
@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3])
def test_it_reaches_the_optimum_of_liblinear(lam: float, exact: bool) -> None:
    oracle = small(exact)
    rows = np.hstack([block.features for block in oracle.blocks])
    peer = oracle.objective(liblinear_beta(rows, oracle.labels, lam), lam)
    solution = dane.solve(oracle, L2(lam), Effort(tol=1e-3, sample=2000))
    assert solution.converged
    assert solution.certificate.lower_bound <= peer * (1.0 + 1e-12)
    assert solution.certificate.objective_upper <= peer * (1.0 + 1e-3)


def test_weights_are_multiplicities() -> None:
    rng = np.random.default_rng(1)
    rows, labels = rng.uniform(-1, 1, (300, 4)), rng.choice([-1.0, 1.0], 300)
    counts = rng.integers(1, 5, 300)
    options = Effort(tol=1e-4, sample=2000)
    weighted = dane.solve(flat_oracle(rows, labels, counts.astype(float)), L2(1e-2), options)
    repeated = dane.solve(flat_oracle(rows.repeat(counts, axis=0), labels.repeat(counts)), L2(1e-2), options)
    assert weighted.converged
    assert weighted.certificate.objective == pytest.approx(repeated.certificate.objective, rel=2e-4)


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "grid"])
def test_the_same_seed_gives_the_same_digits(exact: bool) -> None:
    first, second = (dane.solve(small(exact), L2(1e-3), Effort(tol=1e-5, max_passes=8, seed=3)) for _ in range(2))
    assert np.array_equal(first.beta, second.beta)
    assert first.certificate == second.certificate
    assert [r.buckets for r in first.history] == [r.buckets for r in second.history]


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "grid"])
def test_a_resumed_run_is_the_run_that_never_stopped(exact: bool) -> None:
    whole = dane.solve(small(exact), L2(1e-4), Effort(tol=1e-7, max_passes=7, sample=1000))
    half = dane.solve(small(exact), L2(1e-4), Effort(tol=1e-7, max_passes=3, sample=1000))
    oracle = small(exact)
    rest = dane.solve(oracle, L2(1e-4), Effort(tol=1e-7, max_passes=7, sample=1000), state=half.state)
    assert not half.converged
    assert len(oracle.asked) == len(whole.history) - 3
    assert np.array_equal(rest.beta, whole.beta)
    assert rest.certificate == whole.certificate


@pytest.mark.parametrize("lam", [8e-3, 5e-3])
def test_the_cuts_of_one_lambda_help_another(lam: float) -> None:
    first = dane.solve(small(), L2(1e-2))
    options = Effort(tol=1e-4, sample=1000)
    cold = dane.solve(small(), L2(lam), options)
    oracle = small()
    warm = dane.solve(oracle, L2(lam), options, state=first.state)
    assert warm.converged
    assert len(oracle.asked) < len(cold.history)


def test_what_another_lambda_left_is_no_stall() -> None:
    """Its passes say nothing here at first. That is no reason to give up what the sample knows."""
    before = dane.solve(small(), L2(1e-1), Effort(tol=1e-9, max_passes=12, sample=1000)).state
    run = Run(small(), L2(1e-4), state=before)
    assert (len(run.history), run.gaps, run.stalls) == (12, [], 0)
    oracle = small()
    after = dane.solve(oracle, L2(1e-4), Effort(sample=1000), state=before)
    assert after.converged
    assert len(oracle.asked) <= len(dane.solve(small(), L2(1e-4), Effort(sample=1000)).history)
    assert after.state.strengths.tolist() == [1e-1] * 12 + [1e-4] * len(oracle.asked)


@pytest.mark.parametrize("solve", [dane.solve, bundle.solve])
def test_a_start_is_where_the_first_pass_is_made(solve: Callable[..., Solution]) -> None:
    oracle = small(exact=True)
    optimum = solve(oracle, L2(1e-2), Effort(tol=1e-6))
    first = solve(oracle, L2(1e-2), Effort(max_passes=1), state=State.at(optimum.beta))
    assert first.state.points[0].tolist() == optimum.beta.tolist()
    assert first.certificate.objective == pytest.approx(optimum.certificate.objective, rel=1e-12)
    assert first.certificate.lower_bound < optimum.certificate.lower_bound


def test_the_state_is_told_after_each_pass_but_the_last() -> None:
    """So that a state that was told can be gone on from, and a finished run has nothing more to say."""
    oracle, told = small(exact=True), list[State]()
    done = dane.solve(oracle, L2(1e-4), Effort(tol=1e-6, sample=1000), on_state=told.append)
    assert [len(state) for state in told] == list(range(1, len(done.history)))
    again = dane.solve(oracle, L2(1e-4), Effort(tol=1e-6, sample=1000), state=told[-1])
    assert again.beta.tolist() == done.beta.tolist()


def test_a_finished_state_asks_for_nothing() -> None:
    done = dane.solve(small(), L2(1e-2))
    oracle = small()
    again = dane.solve(oracle, L2(1e-2), state=done.state)
    assert oracle.asked == []
    assert np.array_equal(again.beta, done.beta)


def test_every_pass_is_reported_as_it_happens() -> None:
    seen: list[Record] = []
    solution = dane.solve(small(exact=False), L2(1e-3), on_pass=seen.append)
    assert tuple(seen) == solution.history
    assert [r.pass_ for r in seen] == list(range(1, len(seen) + 1))
    assert all(r.gap == (r.objective_upper - r.lower_bound) / r.objective_upper for r in seen)
    assert all(a.objective_upper >= b.objective_upper for a, b in pairwise(seen))


def test_counting_gets_finer_with_the_gap() -> None:
    oracle = small(exact=False)
    assert dane.solve(oracle, L2(1e-4), Effort(tol=1e-4)).converged
    asked = [buckets for buckets in oracle.asked if buckets is not None]
    assert asked[0] < asked[-1]


def test_exhausted_passes_are_not_convergence() -> None:
    solution = dane.solve(small(), L2(1e-4), Effort(tol=1e-9, max_passes=2))
    assert not solution.converged
    assert len(solution.history) == 2
    assert solution.certificate.gap > 1e-9


def test_the_sample_fits_in_memory() -> None:
    assert dane.sample_size(5) == 20_000
    assert dane.sample_size(50) == 60_000
    assert dane.sample_size(500) == 250_000
    assert dane.sample_size(5000) == 100_000
    assert dane.sample_size(100_000) == 300_000


def test_where_a_pass_reads_many_rows_the_sample_is_larger() -> None:
    assert dane.sample_size(5, 1e6) == 20_000
    assert dane.sample_size(5, 1e7) == 50_000
    assert dane.sample_size(5, 1e9) == 250_000
    sizes: list[int] = []

    class Watched(NumpyOracle):
        def sample(self, size: int, seed: int) -> Sample:
            sizes.append(size)
            return super().sample(2000, seed)

    dane.solve(Watched(**vars(small()) | {"rows_read": 1e7}), L2(1e-2), Effort(tol=1e-1))
    assert sizes == [50_000]


@pytest.mark.parametrize(("buckets", "expected"), [(None, [20_000, 250_000]), (64, [150_000, 200_000])])
def test_the_sample_is_larger_where_rows_meet_many_to_many(buckets: int | None, expected: list[int]) -> None:
    sizes = []

    class Watched(NumpyOracle):
        bags = 5

        def sample(self, size: int, seed: int) -> Sample:
            sizes.append(size)
            return super().sample(2000, seed)

    for rows_read in (1e4, 5e5):
        oracle = Watched(**vars(small()) | {"rows_read": rows_read, "exact": buckets is None})
        dane.solve(oracle, L2(1e-2), Effort(tol=1e-1, buckets=buckets))
    assert sizes == expected


def test_wrong_options_are_refused() -> None:
    with pytest.raises(OptionError, match="lambda"):
        dane.solve(small(), L2(0.0))
    with pytest.raises(OptionError, match="max_passes"):
        Effort(max_passes=0)
    with pytest.raises(OptionError, match="tol"):
        Effort(tol=float("nan"))


def test_a_state_without_cuts_is_refused() -> None:
    nothing = np.full(1, np.nan)
    state = State(np.zeros((1, 6)), np.zeros((1, 6)), nothing, nothing, nothing, nothing, *np.zeros((3, 1)))
    with pytest.raises(OptionError, match="no cuts"):
        dane.solve(small(), L2(1e-2), state=state)


@pytest.mark.parametrize("lam", [1e-3, 1e-4])
@pytest.mark.parametrize("loss", get_args(ClassLoss))
def test_every_loss_takes_few_passes(loss: str, lam: float) -> None:
    rng = np.random.default_rng(2)
    rows = np.hstack([np.ones((60_000, 1)), rng.normal(size=(60_000, 20))])
    labels = np.where(rows[:, 1:8].sum(axis=1) + 2.0 * rng.normal(size=60_000) > 1.0, 1.0, -1.0)
    oracle = replace(flat_oracle(rows, labels, bags=1), loss=named(loss, [(-2.0, 1.0), (1.0, -1.0, 2.0)]))
    solution = dane.solve(oracle, L2(lam))
    assert solution.converged
    assert len(solution.history) <= 4
    value, proof = oracle.objective(solution.beta, lam), solution.certificate
    assert proof.lower_bound <= value <= proof.objective_upper * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("loss", "noise", "most"),
    [("hinge", 2.0, 13), ("hinge", 1.0, 20), ("squared_hinge", 2.0, 9), ("logistic", 2.0, 12)],
)
def test_a_path_shares_its_cuts(loss: str, noise: float, most: int) -> None:
    """13 values of lambda, each from the passes of those before, take clearly less than 1.7 passes each, also where
    labels are strong."""
    rng = np.random.default_rng(3)
    rows = np.hstack([np.ones((120_000, 1)), rng.normal(size=(120_000, 20))])
    labels = np.where(rows[:, 1:8].sum(axis=1) + noise * rng.normal(size=120_000) > 1.0, 1.0, -1.0)
    oracle = replace(flat_oracle(rows, labels, bags=1), loss=named(loss))
    state, lams = None, np.geomspace(1e-1, 1e-5, 13).tolist()
    for lam in (lams[0], lams[-1], *lams[1:-1]):  # as the trainings of a path
        solution = dane.solve(oracle, L2(lam), state=state)
        assert solution.converged
        state = solution.state
    assert state is not None
    assert len(state) <= most


@pytest.mark.parametrize("seed", [5, 27, 86, 95])
def test_a_sample_that_misleads_costs_few_passes(seed: int) -> None:
    """Of 20 or 50 rows: with all steps in its curvature dane took two and three times the passes of the bundle."""
    problem = race.drawn(seed)
    assert problem.passes("dane") <= race.SLACK * problem.passes("bundle") + 1


def test_a_sample_that_helps_is_kept() -> None:
    """It takes 7 passes here, and the bundle 35."""
    assert race.drawn(13).passes("dane") < race.drawn(13).passes("bundle") / 3.0


def test_what_closes_more_of_the_gap_is_done() -> None:
    assert not dane.is_misled([1.0, 0.99, 0.98], 1e-3)
    assert dane.is_misled([1.0, 0.99, 0.98, 0.97], 1e-3)
    assert not dane.is_misled([1.0, 0.7, 0.49], 1e-3)
    assert dane.is_misled([1.0, 0.7, 0.49], 1e-3, scarcity=0.5)  # a sample of few rows is left sooner
    assert dane.is_misled([1.0, 0.99, 0.98, 0.97, 0.7, 0.5], 1e-3)
    assert not dane.is_misled([1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7], 1e-3)
    assert not dane.is_misled([1.0, 0.5, 0.2, 0.1], 1e-3)
    assert not dane.is_misled([1.0, 0.99, 0.98, 0.97], 0.965)  # one more pass with the sample should be the last one


def test_the_density_is_that_of_a_label_of_size_1() -> None:
    local = SimpleNamespace(mean_curvature=lambda point, width: width, unit=4.0, origin=3.0)
    run = SimpleNamespace(oracle=SimpleNamespace(loss=SimpleNamespace(origin=None)))
    search: Any = SimpleNamespace(local=local, run=run, _size=lambda point: 5.0)
    assert dane.Search.density(search, np.zeros(1)) == pytest.approx(dane.NEAR * 4.0 * 9.0 / 5.0)


def test_the_latest_soft_pass_is_gone_on_from() -> None:
    for widths, place in (([0.0, 0.1, 0.2, 0.0], 2), ([0.0, 0.0], 1)):
        run = SimpleNamespace(cuts=[SimpleNamespace(width=width) for width in widths])
        assert dane.Search._latest_soft.fget(SimpleNamespace(run=run)) == place  # type: ignore[attr-defined]


def test_passes_over_other_rows_are_told_from_rounding() -> None:
    """A bound that is a millionth above an objective of 10^9 may be rounding."""
    for share, is_odd in ((5e-7, False), (2e-6, True)):
        run: Any = SimpleNamespace(
            bundle=SimpleNamespace(lower_bound=lambda share=share: 1e9 * (1.0 + share)), merit=lambda at: 1e9, best=0
        )
        with pytest.raises(DataError) if is_odd else nullcontext():
            Run._check_rows(run)
