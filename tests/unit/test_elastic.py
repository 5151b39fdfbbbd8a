"""The elastic net, a free intercept and constraints: the proof on both sides of a peer's optimum, in memory."""

from dataclasses import dataclass, replace
from math import inf
from time import process_time

import numpy as np
import pytest

from sqlsvm.solve import bundle, dane, interior
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.cuts import Bundle
from sqlsvm.solve.elastic import Elastic, Free, Side
from sqlsvm.solve.interior import Split
from sqlsvm.solve.loss import Loss, named
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.solution import Effort, Solution
from tests.ground.convex import optimum
from tests.ground.numpy_oracle import NumpyOracle, flat_oracle


def drawn(seed: int, rows: int = 600, width: int = 9, shift: float = 1.0, noise: float = 1.0) -> NumpyOracle:
    """A constant and features, of which some are discrete and half have a weight."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(rows), rng.normal(size=(rows, width // 2)), rng.integers(-1, 2, (rows, width // 2))])
    weights = rng.normal(size=x.shape[1]) * (rng.random(x.shape[1]) < 0.5)
    y = np.where(x @ weights + noise * rng.normal(size=rows) + shift > 0, 1.0, -1.0)
    y[:2] = -1.0, 1.0  # both classes have rows
    return flat_oracle(x.astype(float), y)


def rows_of(oracle: NumpyOracle) -> Array:
    return np.hstack([block.features[block.index] for block in oracle.blocks])


def free(oracle: NumpyOracle) -> Free:
    x, y, origin = rows_of(oracle), oracle.labels, oracle.origin
    sides = [Side(float(np.mean(y == s)), s, origin, abs(origin), x[y == s].mean(axis=0)) for s in (-1.0, 1.0)]
    return Free(0, oracle.loss, sides)


def at_least(matrix: list[list[float]], shifts: list[float]) -> Constraint:
    return Constraint(tuple(f"row {i}" for i in range(len(shifts))), np.array(matrix, dtype=float), np.array(shifts))


def nonnegative(width: int) -> Constraint:
    return at_least(np.eye(width)[1:].tolist(), [0.0] * (width - 1))


def fair(width: int) -> Constraint:
    row = np.random.default_rng(5).normal(size=width) * 0.3
    row[0] = 0.0
    return at_least([row.tolist(), (-row).tolist()], [0.01, 0.01])


def box(width: int) -> Constraint:
    ends = np.vstack([np.eye(width)[1:4], -np.eye(width)[1:4]])
    return at_least(ends.tolist(), [0.1] * 3 + [0.2] * 3)


@dataclass(frozen=True)
class Wish:
    loss: str
    lam: float
    l1: float
    free: bool
    kind: str

    def penalty(self, oracle: NumpyOracle) -> Elastic:
        width = oracle.dimension
        made = {"none": Constraint.none(width), "nonnegative": nonnegative(width), "fair": fair(width)}
        made["box"] = box(width)
        made["nonnegative and fair"] = Constraint.together([nonnegative(width), fair(width)], width)
        return Elastic(self.lam, self.l1, made[self.kind], 0, free(oracle) if self.free else None)

    def peer(self, oracle: NumpyOracle, penalty: Elastic) -> float:
        n = len(oracle.labels)
        beta = optimum(
            rows_of(oracle),
            oracle.labels,
            np.full(n, oracle.origin),
            np.full(n, 1.0 / n),
            self.loss,
            self.lam,
            l1=self.l1,
            constant=0,
            free=self.free,
            constraint=penalty.constraint,
        )
        return objective(oracle, penalty, penalty.feasible(beta))


def objective(oracle: NumpyOracle, penalty: Elastic, beta: Array) -> float:
    return oracle.mean_loss(beta) + penalty.value(beta)


def with_loss(oracle: NumpyOracle, loss: str) -> NumpyOracle:
    found: Loss = named(loss)
    return replace(oracle, loss=found)


def assert_proven(oracle: NumpyOracle, penalty: Elastic, solution: Solution, peer: float, tol: float = 1e-3) -> None:
    proof, value = solution.certificate, objective(oracle, penalty, solution.beta)
    assert proof.lower_bound <= peer * (1 + 1e-8)
    assert proof.objective * (1 - 1e-9) <= value <= proof.objective_upper * (1 + 1e-9)
    assert solution.converged
    assert value <= peer / (1 - tol) * (1 + 1e-8)
    assert penalty.constraint.slack(solution.beta).min(initial=0.0) >= -1e-9


KINDS = ("none", "nonnegative", "fair", "box", "nonnegative and fair")
WISHES = [
    Wish(loss, lam, l1, free, kind)
    for place, kind in enumerate(KINDS)
    for number, loss in enumerate(("hinge", "squared_hinge", "logistic"))
    for lam, l1, free in [((1e-2, 0.0, True), (1e-3, 1e-2, False), (1e-4, 1e-3, True))[(place + number) % 3]]
]


@pytest.mark.parametrize("wish", WISHES, ids=str)
def test_a_training_is_proven(wish: Wish) -> None:
    oracle = with_loss(drawn(WISHES.index(wish)), wish.loss)
    penalty = wish.penalty(oracle)
    solution = dane.solve(oracle, penalty, Effort(tol=1e-3, max_passes=40))
    assert_proven(oracle, penalty, solution, wish.peer(oracle, penalty))


def test_the_bundle_alone_gets_there() -> None:
    wish = Wish("hinge", 1e-2, 1e-3, True, "fair")
    oracle = drawn(3)
    penalty = wish.penalty(oracle)
    solution = bundle.solve(oracle, penalty, Effort(tol=1e-3, max_passes=60))
    assert_proven(oracle, penalty, solution, wish.peer(oracle, penalty))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_a_campaign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn_loss, kind = str(rng.choice(["hinge", "squared_hinge", "logistic"])), str(rng.choice(KINDS))
    l1 = float(rng.choice([0.0, 1e-3, 1e-2]))
    wish = Wish(drawn_loss, 10.0 ** rng.uniform(-4, -1), l1, bool(rng.random() < 0.5), kind)
    oracle = with_loss(drawn(seed, shift=rng.choice([0, 1, 3]), noise=rng.choice([0.3, 3.0])), wish.loss)
    penalty = wish.penalty(oracle)
    solution = dane.solve(oracle, penalty, Effort(tol=1e-3, max_passes=60))
    assert_proven(oracle, penalty, solution, wish.peer(oracle, penalty))


def test_weights_that_do_not_help_are_exactly_0() -> None:
    oracle = drawn(1, rows=2000)
    solution = dane.solve(oracle, Elastic(1e-4, 0.05, Constraint.none(oracle.dimension), 0), Effort(tol=1e-4))
    assert 3 <= np.count_nonzero(solution.beta == 0.0) < oracle.dimension
    assert solution.beta[0] != 0.0


@pytest.mark.thin(3)
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_any_multipliers_prove_a_bound(size: float) -> None:
    """Also those that pull at an intercept that is free, and any of constraints."""
    oracle, rng = drawn(2, rows=60, width=4), np.random.default_rng(0)
    wish = Wish("hinge", 1e-2, 1e-2, True, "fair")
    penalty = wish.penalty(oracle)
    peer = wish.peer(oracle, penalty)
    found = Bundle(penalty, oracle.dimension)
    for _ in range(5):
        found.add(oracle.pass_(rng.normal(size=oracle.dimension), None))
    slopes, offsets = found._slopes, found._offsets
    for _ in range(100):
        alpha = rng.dirichlet(np.ones(len(offsets)))
        xi = np.abs(rng.normal(size=len(penalty.constraint))) * size
        bound = offsets @ alpha + penalty.inner_minimum(alpha @ slopes, np.abs(alpha @ slopes), 0.0, xi=xi, upper=peer)
        assert bound <= peer * (1 + 1e-9)


def test_the_interval_of_a_free_intercept_has_all_good_points() -> None:
    oracle, rng = drawn(4), np.random.default_rng(0)
    known = free(oracle)
    for _ in range(80):
        beta = rng.normal(size=oracle.dimension) * 10.0 ** rng.uniform(-1, 1)
        low, high = known.within(oracle.mean_loss(beta), float(np.linalg.norm(beta[1:])))
        assert low <= beta[0] <= high


def test_other_weights_widen_the_interval_by_what_they_may_add() -> None:
    known = Free(0, named("absolute"), [Side(1.0, 1.0, 5.0, 5.0, np.array([1.0, 3.0, -4.0]))])
    alone, with_others = known.within(2.0, 0.0), known.within(2.0, 0.5)
    assert with_others == (alone[0] - 2.5, alone[1] + 2.5)


def test_the_known_cuts_are_below_the_loss() -> None:
    for loss in ("hinge", "squared_hinge", "logistic", "modified_huber"):
        oracle, rng = with_loss(drawn(5), loss), np.random.default_rng(0)
        cuts: list[Cut] = [cut for cut, _ in free(oracle).cuts]
        assert cuts
        for _ in range(50):
            beta = rng.normal(size=oracle.dimension) * 3.0
            assert max(cut.offset + cut.slope @ beta for cut in cuts) <= oracle.mean_loss(beta) + 1e-12


def test_a_conflict_is_named_by_its_rows() -> None:
    rows = at_least([[0, 1, 0], [0, 0, 1], [0, -1, -1], [1, 0, 0]], [-1.0, -2.0, 2.0, 5.0])
    found = rows.conflict()
    assert found is not None
    assert found.names == ("row 0", "row 1", "row 2")
    assert at_least([[0, 1, 0], [0, 0, 1], [0, -1, -1]], [-1.0, -2.0, 3.0]).conflict() is None


def test_a_row_without_weights_can_be_in_conflict_alone() -> None:
    found = at_least([[1, 0], [0, 0]], [0.0, -1.0]).conflict()
    assert found is not None
    assert found.names == ("row 1",)


def test_a_repaired_point_keeps_its_zeros_and_signs() -> None:
    held = Constraint.together([nonnegative(6), fair(6)], 6)
    rng = np.random.default_rng(1)
    for _ in range(200):
        beta = held.repaired(np.round(rng.normal(size=6), 1) * (rng.random(6) < 0.6))
        assert held.holds(beta)
        assert (beta[1:] >= 0.0).all()


def test_a_repair_moves_what_is_not_0_first() -> None:
    held = Constraint(("sum",), np.ones((1, 3)), np.array([-1.0]))
    np.testing.assert_allclose(held.repaired(np.array([0.0, 0.5, 0.0])), [0.0, 1.0, 0.0], atol=1e-12)


def test_resuming_with_other_constraints_uses_the_cuts() -> None:
    oracle = drawn(6, rows=3000)
    first = dane.solve(oracle, Wish("hinge", 1e-3, 0.0, False, "none").penalty(oracle), Effort(tol=1e-3))
    wish = Wish("hinge", 1e-3, 1e-3, True, "nonnegative")
    penalty = wish.penalty(oracle)
    later = dane.solve(oracle, penalty, Effort(tol=1e-3), state=first.state)
    assert_proven(oracle, penalty, later, wish.peer(oracle, penalty))
    assert len(later.state) > len(first.state)


def test_an_optimum_of_0_takes_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its objective is 0, so no share of it is a measure of what is enough."""
    steps, improve = list[int](), interior._Interior.improve

    def counted(search: interior._Interior) -> bool:
        steps.append(1)
        return improve(search)

    monkeypatch.setattr(interior._Interior, "improve", counted)
    rows, none = np.eye(8)[:7], np.zeros((0, 8))
    pulls = np.linspace(0.1, 0.9, 8)
    found = interior.minimise(
        interior.Split.diagonal_of(np.full(8, 1e-4)),
        np.append(pulls[:7], 0.0),
        none,
        np.zeros(0),
        np.full(8, 1e-2),
        interior.Limits(rows, np.zeros(7)),
    )
    assert np.abs(found.x).max() < 1e-9
    assert len(steps) < 30


def test_without_cuts_and_constraints_signs_are_enough() -> None:
    """They leave equations. Else the interior point method took twenty times as long for the same point."""
    rng, found = np.random.default_rng(7), 0
    for _ in range(100):
        size, weights = 12, rng.uniform(0.0, 0.5, 12) * (rng.random(12) < 0.8)
        rows = rng.normal(size=(20, 8)) * 10.0 ** rng.integers(-2, 3, 8)
        matrix = interior.Split(rows.T @ rows / 20 + 1e-4 * np.eye(8), rng.uniform(0.1, 2.0, 4), rng.permutation(size))
        linear = rng.normal(size=size)
        x = interior._by_signs(matrix, linear, weights)
        if x is None:
            continue
        found += 1
        slope = matrix @ x + linear
        rounded = 1e-9 * float(np.abs(matrix.dense).max()) * float(np.abs(x).max(initial=1.0))
        assert (np.abs(slope + weights * np.sign(x))[x != 0.0] <= rounded).all()
        assert (np.abs(slope)[x == 0.0] <= weights[x == 0.0] + rounded).all()
    assert found > 95


def test_a_direction_without_curvature_is_left_to_the_interior() -> None:
    assert interior._by_signs(interior.Split.diagonal_of(np.array([1.0, 0.0])), np.ones(2), np.full(2, 2.0)) is None


def test_the_end_of_an_interval_is_found_at_once() -> None:
    """Also where the loss is 0 as far as doubles reach."""
    free, began = Free(0, named("hinge"), [Side(1.0, 1.0, 1.0, 1.0, np.ones(1))]), process_time()
    for upper in np.linspace(0.1, 2.0, 200):
        assert free.within(float(upper), 0.0)[1] == inf
    assert process_time() - began < 0.5


def test_a_free_intercept_moves_with_a_column_that_is_far_from_0() -> None:
    """Both are nearly one weight. Steps as short as with a penalty on both found no proof in 60 passes."""
    rng = np.random.default_rng(3)
    x = np.hstack([np.ones((100, 1)), 20.0 + 0.1 * rng.normal(size=(100, 1)), rng.normal(size=(100, 2))])
    score = 10.0 * (x[:, 1] - 20.0) + x[:, 2] + 0.5 * rng.normal(size=100)
    oracle = with_loss(flat_oracle(x, np.where(score > 0.0, 1.0, -1.0)), "smooth_hinge")
    penalty = Elastic(1e-3, 0.0, Constraint.none(4), 0, free(oracle))
    found = dane.solve(oracle, penalty, Effort(max_passes=20))
    assert found.converged
    assert len(found.history) <= 4


def test_a_step_tells_how_far_it_falls() -> None:
    """-s + s^2 + 0.1 |s| is least at 0.45."""
    found = Elastic(1.0, 0.1, Constraint.none(2))
    step, fall = found._step(Split.diagonal_of(np.full(2, 2.0)), np.zeros(2), np.array([-1.0, 0.0]), np.full(2, 2.0))
    np.testing.assert_allclose(step, [0.45, 0.0], atol=1e-9)
    assert fall == pytest.approx(-0.2025)
