"""Kernel machines on rows in numpy: the kernel of joined rows, its caches, and the solvers next to scikit-learn."""

from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.svm import SVC

from sqlsvm.engine.base import Values
from sqlsvm.errors import OptionError
from sqlsvm.kernel.decomposition import Task, best_offset, decomposed, stepped, usual_gamma
from sqlsvm.kernel.functions import DEGREE, Kernel
from sqlsvm.kernel.gram import Cache, Gram, Kind, Pool
from sqlsvm.kernel.pegasos import Linear, after, kernelised
from sqlsvm.kernel.rows import Block, Joined
from sqlsvm.options import CacheKind, CacheShare, KernelName
from sqlsvm.run.training import Training
from sqlsvm.solve.rows import SampleRows

KERNELS: tuple[KernelName, ...] = get_args(KernelName)
CACHES: tuple[CacheKind, ...] = get_args(CacheKind)
SHARES: tuple[CacheShare, ...] = get_args(CacheShare)


def wide(seed: int, rows: int = 300) -> tuple[list[Block], Values]:
    """Rows of three tables that repeat, and a label that no sum over tables explains."""
    rng = np.random.default_rng(seed)
    a, b, kind = rng.normal(size=(30, 2)), rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    i, j, own = rng.integers(0, 30, rows), rng.integers(0, 40, rows), rng.normal(size=(rows, 1))
    none = np.zeros((rows, 0), dtype=np.int64)
    blocks = [Block(a[i], none), Block(b[j], kind[j, None]), Block(own, none)]
    score = a[i, 0] * b[j, 0] + (kind[j] == 2) * a[i, 1] + own[:, 0] + 0.5 * rng.normal(size=rows)
    return blocks, np.where(score > 0.0, 1.0, -1.0)


def dense(blocks: list[Block]) -> list[Values]:
    """The columns of each table, with one for each category."""
    ones = [np.concatenate([codes[:, None] == np.arange(1, 4) for codes in b.codes.T] or [b.codes], 1) for b in blocks]
    return [np.hstack([b.numbers, one]) for b, one in zip(blocks, ones, strict=True)]


def gram_of(parts: list[Values], kernel: Kernel) -> Values:
    """By the definition of each kernel."""
    x, gamma = np.hstack(parts), kernel.gamma
    squares = [((part[:, None] - part) ** 2).sum(-1) for part in parts]
    by_name = {
        "linear": lambda: x @ x.T,
        "poly": lambda: (gamma * x @ x.T + 1.0) ** DEGREE,
        "sigmoid": lambda: np.tanh(gamma * x @ x.T),
        "rbf": lambda: np.exp(-gamma * sum(squares)),
        "additive": lambda: sum(np.exp(-gamma * square) for square in squares),
    }
    return np.asarray(by_name[kernel.name]())


def peer(k: Values, y: Values, strength: float) -> tuple[float, Values]:
    """The objective of scikit-learn's SVC, whose constant is free, and its scores."""
    found = SVC(C=1.0 / (strength * len(y)), kernel="precomputed", tol=1e-6).fit(k, y)
    beta = np.zeros(len(y))
    beta[found.support_] = found.dual_coef_[0]
    scores = k @ beta + found.intercept_[0]
    return float(strength / 2 * beta @ k @ beta + np.maximum(0.0, 1.0 - y * scores).mean()), scores


# -- the kernel of joined rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("kind", CACHES)
def test_a_row_of_the_kernel_is_made_of_rows_of_the_tables(name: KernelName, kind: CacheKind) -> None:
    blocks, y = wide(0)
    joined, kernel = Joined.of(blocks), Kernel(name, 0.3)
    assert [len(b) for b in joined.blocks] == [30, 40, 300]
    wanted, rng = gram_of(dense(blocks), kernel) + 1.0, np.random.default_rng(1)
    gram = Gram(joined, kernel, 1.0, Cache(kind, 40_000))
    for i in rng.integers(0, 20, 60).tolist():
        np.testing.assert_allclose(gram.row(i), wanted[i], atol=1e-12)
        some = np.sort(rng.permutation(300)[:70])
        np.testing.assert_allclose(gram.row(i, some), wanted[i, some], atol=1e-12)
    np.testing.assert_allclose(gram.diagonal, np.diag(wanted), atol=1e-12)
    np.testing.assert_allclose(gram.times(y), wanted @ y, atol=1e-9)
    chosen = rng.random(300) < 0.2
    part = joined[chosen].values(joined[~chosen], kernel, 1.0)
    np.testing.assert_allclose(part, wanted[np.ix_(chosen, ~chosen)], atol=1e-12)


@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("limit", [0, 500, 5_000, 50_000, 10**7])
def test_memory_stays_under_its_limit(kind: CacheKind, share: CacheShare, limit: int) -> None:
    gram = Gram(Joined.of(wide(1)[0]), Kernel("rbf", 0.3), 0.0, Cache(kind, limit, share))
    for i in np.random.default_rng(0).integers(0, 300, 400).tolist():
        gram.row(i)
        assert gram.used <= limit
        held = sum(row.nbytes for pool in gram._pools for kind in pool.kinds for row, _ in kind.rows.values())
        assert held == gram.used
    full = {"local": 8 * (30**2 + 40**2 + 300**2), "global": 8 * 300**2}
    if limit == 10**7 and kind in full:
        assert gram.used > 0.5 * full[kind]


def test_a_table_whose_rows_repeat_is_read_from_its_cache() -> None:
    gram = Gram(Joined.of(wide(2)[0][:2]), Kernel("linear"), 0.0, Cache("local", 8 * (30**2 + 40**2)))
    for i in range(300):
        gram.row(i)
    (pool,) = gram._pools
    assert pool.misses == 30 + 40


def test_rows_that_are_asked_for_again_are_kept_at_the_level_of_the_join() -> None:
    gram = Gram(Joined.of(wide(3)[0]), Kernel("rbf", 0.3), 0.0, Cache("two-level", 10**6))
    for i in [*range(10)] * 3:
        gram.row(i)
    assert set(gram._whole.rows) == set(range(10))


def test_dear_rows_outlive_cheap_ones_until_they_are_old() -> None:
    dear, cheap = Kind(10.0), Kind(1.0)
    pool, row = Pool(4 * 8, dear, cheap), np.zeros(1)
    for place in range(2):
        pool.get(dear, place, lambda: row)
    for place in range(15):
        pool.get(cheap, place, lambda: row)
    assert (list(dear.rows), list(cheap.rows)) == ([0, 1], [13, 14])
    pool.get(dear, 1, lambda: row)
    for place in range(20, 32):
        pool.get(cheap, place, lambda: row)
    assert list(dear.rows) == [1]
    assert pool.used == pool.limit


def test_the_usual_gamma() -> None:
    blocks, _ = wide(4)
    joined, x = Joined.of(blocks), np.hstack(dense(blocks))
    apart = ((x[:, None] - x) ** 2).sum(-1)
    assert usual_gamma(joined, "rbf", 0) == pytest.approx(1 / np.median(apart[apart > 0]), rel=0.1)
    assert usual_gamma(joined, "poly", 0) == pytest.approx(1 / (x * x).sum(1).mean())
    assert usual_gamma(joined[:1], "rbf", 0) == 1.0


# -- the solvers -------------------------------------------------------------------------------------------------------


TASKS = [(name, seed, strength) for name in KERNELS for seed, strength in enumerate((2e-2, 2e-3, 2e-4))]


@pytest.mark.parametrize(("name", "seed", "strength"), [c for c in TASKS if c[0] != "sigmoid" or c[2] == 2e-2])
def test_next_to_scikit_learn(name: KernelName, seed: int, strength: float) -> None:
    """The objective to 1e-4, and the same predictions but for ties. With the sigmoid kernel and a weak penalty there
    are several places from which no step leads down."""
    blocks, y = wide(seed)
    kernel = Kernel(name, 0.1)
    task = Task(Joined.of(blocks), y, np.ones(300), strength, free=True)
    gram, told = task.gram(kernel, Cache()), list[Any]()
    dual = decomposed(task, gram, 1e-6, 500, told.append)
    k = gram_of(dense(blocks), kernel)
    objective, scores = peer(k, y, strength)
    own = k @ dual.beta + dual.offset
    assert dual.objective == pytest.approx(objective, rel=1e-4)
    assert (np.sign(own) == np.sign(scores))[np.abs(scores) > 1e-2].all()
    if kernel.is_definite:
        assert dual.lower_bound <= objective * (1 + 1e-9)
        assert dual.gap <= 1e-6
        assert told[-1] == dual
    caps = 1.0 / (strength * 300)
    assert (dual.beta * y >= 0.0).all()
    assert (dual.beta * y <= caps).all()
    assert dual.beta.sum() == pytest.approx(0.0, abs=1e-9 * caps * 300)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_constant_that_the_penalty_counts_is_a_feature(intercept: bool) -> None:
    blocks, y = wide(5)
    task = Task(Joined.of(blocks), y, np.ones(300), 2e-3, intercept)
    found = decomposed(task, task.gram(Kernel("rbf", 0.2), Cache()), 1e-7, 500, lambda dual: None)
    k = gram_of(dense(blocks), Kernel("rbf", 0.2)) + intercept
    scores = k @ found.beta
    assert found.offset == pytest.approx(found.beta.sum() if intercept else 0.0)
    own = 1e-3 * found.beta @ k @ found.beta + np.maximum(0.0, 1.0 - y * scores).mean()
    assert found.objective == pytest.approx(own)
    assert found.gap <= 1e-7


def test_rows_count_as_they_weigh() -> None:
    """A row of weight 3 is three rows."""
    blocks, y = wide(6, 80)
    weights = np.random.default_rng(0).integers(1, 4, 80)
    again = np.repeat(np.arange(80), weights)
    rows, kernel = Joined.of(blocks), Kernel("rbf", 0.2)
    tasks = [Task(rows, y, weights.astype(float), 2e-3), Task(rows[again], y[again], np.ones(len(again)), 2e-3)]
    one, other = (decomposed(t, t.gram(kernel, Cache()), 1e-7, 500, lambda dual: None) for t in tasks)
    assert one.objective == pytest.approx(other.objective, rel=1e-6)


@pytest.mark.slow
def test_every_round_proves_something() -> None:
    blocks, y = wide(7)
    task = Task(Joined.of(blocks), y, np.ones(300), 2e-4)
    gram, told = task.gram(Kernel("rbf", 1.0), Cache("local", 4000)), list[Any]()
    best = decomposed(task, gram, 1e-8, 500, told.append)
    assert len(told) > 2
    assert all(dual.lower_bound <= best.objective for dual in told)
    assert all(dual.objective >= best.lower_bound for dual in told)


def test_the_best_offset() -> None:
    """Of all places where the slope changes."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 12))
        y, v, caps = rng.choice([-1.0, 1.0], n), rng.integers(-3, 4, n) / 2, rng.uniform(0.1, 2, n)
        loss = [float(caps @ np.maximum(0.0, y * (v - b))) for b in v]
        found = best_offset(y, v, caps)
        assert float(caps @ np.maximum(0.0, y * (v - found))) == pytest.approx(min(loss))


def test_pegasos_is_algorithm_1() -> None:
    """Step by step as it is written, with the same rows."""
    blocks, y = wide(8, 60)
    k, strength = gram_of(dense(blocks), Kernel("rbf", 0.2)), 0.05
    alpha, rng = np.zeros(60), np.random.default_rng(3)
    drawn = rng.choice(60, 4096, p=np.full(60, 1 / 60))[:400]
    alpha[drawn[0]] = 1
    for t, i in enumerate(drawn[1:].tolist(), 2):
        if y[i] / (strength * (t - 1)) * (alpha * y) @ k[i] < 1.0:
            alpha[i] += 1
    walk = kernelised(lambda i: k[i], y, np.ones(60), strength, np.random.default_rng(3))
    assert after(400, walk).tolist() == alpha.tolist()


@pytest.mark.slow
def test_pegasos_comes_closer_and_proves_it() -> None:
    blocks, y = wide(9)
    task = Task(Joined.of(blocks), y, np.ones(300), 2e-2)
    best = decomposed(task, task.gram(Kernel("rbf", 0.2), Cache()), 1e-7, 500, lambda dual: None)
    told: list[Any] = []
    found = stepped(task, task.gram(Kernel("rbf", 0.2), Cache()), 0.03, 200, 0, told.append)
    assert found.gap <= 0.03
    assert best.objective * (1 - 1e-6) <= found.objective <= 1.03 * best.objective
    assert found.lower_bound <= best.objective
    assert all(later.gap <= earlier.gap for earlier, later in pairwise(told))


def test_linear_pegasos_is_the_kernelised_one_with_the_linear_kernel() -> None:
    rng = np.random.default_rng(0)
    numbers, ones = rng.normal(size=(500, 3)), rng.integers(3, 7, (500, 1))
    rows = SampleRows(numbers, ones, 6)  # 6 is none
    x, y = rows.dense(), np.where(numbers[:, 0] + (ones[:, 0] == 4) > 0.3, 1.0, -1.0)
    found, sums = Linear(0.02, 6), np.zeros(6)
    for part in (slice(0, 200), slice(200, 500)):
        found.look(rows[part], y[part])
    for t in range(500):
        if not t or y[t] * (sums @ x[t]) / (0.02 * t) < 1.0:
            sums += y[t] * x[t]
    np.testing.assert_allclose(found.beta, sums / (0.02 * 500))


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gamma": 0.0, "solver": "kernel"}, "gamma must be auto or a number above 0, not 0.0"),
        ({"gamma": -1.0, "solver": "kernel"}, "gamma must be auto or a number above 0, not -1.0"),
        ({"cache_mb": 0.0, "solver": "kernel"}, "cache_mb must be a number above 0, not 0.0"),
        ({"kernel": "rbf"}, "kernel is for solver='kernel' or pegasos"),
        ({"gamma": 0.5, "solver": "bundle"}, "gamma is for solver='kernel' or pegasos"),
        ({"gamma": 0.5, "solver": "pegasos"}, "pegasos without a kernel makes a linear model"),
        ({"kernel": "linear", "gamma": 0.5, "solver": "kernel"}, "the linear kernel has no gamma"),
        ({"loss": "logistic", "solver": "kernel"}, "kernel minimises the hinge, not logistic"),
        ({"l1": 0.1, "solver": "kernel"}, "kernel has neither l1 nor constrain"),
        ({"map": ("auto",), "solver": "kernel"}, "a kernel takes no map"),
        ({"folds": 5, "solver": "pegasos"}, "pegasos takes neither folds nor probability"),
        ({"intercept": "free", "solver": "pegasos"}, "pegasos penalises the intercept, or has none"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError) as found:
        Training.of(label="y", **options)
    assert found.value.message.startswith(said)
    assert found.value.hint
