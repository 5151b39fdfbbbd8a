"""Sketched counts against counting the join itself: within 1 + epsilon, and never too many."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import log, log1p

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm import sql
from sqlsvm.compile.resolve import COUNT, resolve, value_counts, values_name
from sqlsvm.compile.tally import active_rows
from sqlsvm.engine.base import Engine, Rows, Values
from sqlsvm.lab.compile.sketch import EXCESS, THRESHOLDS, compressions, counted, excess, levels, step_for, thresholds
from sqlsvm.lab.run.pseudo_oracle import PseudoJoinOracle, Sketching, sketching
from sqlsvm.plan.parameters import BOUND, LABEL, LEVELS, THETA
from sqlsvm.run.data import Data
from sqlsvm.run.workspace import workspace
from tests.ground import svm
from tests.ground.opened import Opened, Wish, build, is_clear, opened_problem, opened_world
from tests.ground.schemas import Wishes
from tests.typed import asked, meant

pytestmark = pytest.mark.slow

EPSILONS = (0.01, 0.1, 0.5, 1.0)
SHAPES = {
    "path4": ((0, 1), (1, 2), (2, 3)),
    "star4": ((0, 1), (0, 2), (0, 3)),
    "fork5": ((0, 1), (1, 2), (1, 3), (3, 4)),
    "star5": ((4, 0), (4, 1), (4, 2), (4, 3)),
}
ROWS = {"path4": 48, "star4": 36, "fork5": 16, "star5": 14}
KEYS = 3
MANY: Wishes = {"many_to_many": True, "nulls": False, "left_joins": False, "continuous": True}


# -- tables that tie into a shape --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shaped:
    """A problem over a join with one feature x<i> for each table, and the rows of that join."""

    problem: Data
    rows: Rows
    theta: Values

    @property
    def sketching(self) -> Sketching:
        return sketching(self.problem.work, self.problem.plan)

    def margins(self, label: float) -> Values:
        """label * score of all rows, in the order in which the theta of the design has its features."""
        coordinates = self.problem.plan.design.coordinates
        score = sum(self.theta[c.index] * (self.rows[c.feature] if c.feature else 1.0) for c in coordinates)
        return np.asarray(label * score)

    def weights(self) -> Values:
        return self.rows.get("w", np.ones(len(self.rows["y"])))

    def true_counts(self, label: float, bound: float) -> dict[str, dict[float, float]]:
        """Feature -> value -> weight of the join rows of that label with margin < bound."""
        active = (self.rows["y"] == label) & (self.margins(label) < bound)
        return {f: added(self.rows[f][active], self.weights()[active]) for f in self.rows if f[0] == "x"}

    def counts(self, label: float, bound: float, epsilon: float) -> dict[str, dict[float, float]]:
        plan = self.problem.plan
        program = [*counted(plan)]
        for bag in plan.bags:
            program += resolve(plan, bag.core, active_rows(bag.number), value_counts)
        asked = self.asked(label, bound, self.sketching.for_counts(epsilon))
        with self.problem.work.scratch():
            answers = self.problem.work.run(program, asked)
        found = [(c, answers[values_name(c)]) for c in plan.design.coordinates if c.role == "value"]
        return {c.feature: added(rows["value"].astype(float), rows[COUNT].astype(float)) for c, rows in found}

    def asked(self, label: float, bound: float, levels: Values) -> dict[str, object]:
        return {THETA: label * self.theta, LABEL: label, BOUND: bound, LEVELS: levels}


def added(values: Values, counts: Values) -> dict[float, float]:
    found, places = np.unique(values, return_inverse=True)
    return dict(zip(found.tolist(), np.bincount(places, counts, len(found)).tolist(), strict=True))


@contextmanager
def shaped(engine: Engine, shape: str, seed: int, wish: Wish, *, weighted: bool = False) -> Iterator[Shaped]:
    """Table 1 has the label, and where weighted a weight that is no integer; few keys, so rows have many partners."""
    rng = np.random.default_rng(seed)
    text = make_tables(engine, shape, rng, weighted)
    with workspace(engine) as work:
        problem = opened_problem(work, text, wish)
        assert len(problem.plan.bags) == len(SHAPES[shape]) + 1
        rows = {
            name: values.astype(float) for name, values in asked(engine, parse_one(text, read=engine.dialect)).items()
        }
        yield Shaped(problem, rows, rng.normal(size=problem.plan.design.size) / 2)


def make_tables(engine: Engine, shape: str, rng: np.random.Generator, weighted: bool) -> str:
    """Creates and fills them; the feature query."""
    ties, size = SHAPES[shape], ROWS[shape]
    for t in range(len(ties) + 1):
        keys = {f"k{e}": rng.integers(0, KEYS, size) for e, tie in enumerate(ties) if t in tie}
        held = {**keys, f"x{t}": rng.normal(size=size)}
        if t == 1:
            held |= {"y": rng.choice([-1, 1], size), **({"w": rng.uniform(0.01, 2.0, size)} if weighted else {})}
        types = ", ".join(f"{name} {'INT' if v.dtype.kind == 'i' else 'DOUBLE PRECISION'}" for name, v in held.items())
        build(engine, f"CREATE TABLE t{t} ({types})")
        engine.copy_in(meant(engine, f"t{t}"), held)
    outputs = ", ".join([*(f"x{t}" for t in range(len(ties) + 1)), "y", *(["w"] if weighted else [])])
    tables = ", ".join(f"t{t}" for t in range(len(ties) + 1))
    joined = " AND ".join(f"t{a}.k{e} = t{b}.k{e}" for e, (a, b) in enumerate(ties))
    return f"SELECT {outputs} FROM {tables} WHERE {joined}"


# -- counts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_are_within_epsilon_and_never_too_many(engine: Engine, shape: str) -> None:
    with shaped(engine, shape, 7, Wish(method="sketch")) as world:
        worst = {}
        for epsilon in EPSILONS:
            label = 1.0 if epsilon in (0.1, 1.0) else -1.0
            found, truth = world.counts(label, 0.7, epsilon), world.true_counts(label, 0.7)
            assert max(max(counts.values()) for counts in truth.values()) > 500
            worst[epsilon] = worst_ratio(found, truth)
            assert worst[epsilon] <= (1 + epsilon) * (1 + 1e-9)
        assert worst[1.0] > 1.05  # it did compress


def worst_ratio(found: dict[str, dict[float, float]], truth: dict[str, dict[float, float]]) -> float:
    """The largest share that is missing; what is counted is there, and not too often."""
    assert found.keys() == truth.keys()
    worst = 1.0
    for feature, counts in truth.items():
        positive = {value: count for value, count in found[feature].items() if count > 0}
        assert positive.keys() == counts.keys()
        for value, count in counts.items():
            assert positive[value] <= count * (1 + 1e-9)
            worst = max(worst, count / positive[value])
    return worst


@pytest.mark.parametrize("shape", SHAPES)
def test_uncompressed_messages_count_exactly(duckdb: Engine, shape: str) -> None:
    with shaped(duckdb, shape, 8, Wish(method="exact")) as world:
        for label in (-1.0, 1.0):
            found = world.counts(label, 0.3, 0.1)
            assert worst_ratio(found, world.true_counts(label, 0.3)) == 1.0


@pytest.mark.parametrize("shape", ["path4", "star4"])
def test_weights_that_are_no_integers(engine: Engine, shape: str) -> None:
    """A count may be less than 1, and is still approximated relatively."""
    with shaped(engine, shape, 9, Wish(method="sketch", weight="w", class_weights=(1, 3)), weighted=True) as world:
        scale = {-1.0: 1.0, 1.0: 3.0}
        for label, epsilon in ((-1.0, 0.5), (1.0, 0.05)):
            truth = world.true_counts(label, -1.0)
            truth = {f: {v: scale[label] * n for v, n in counts.items()} for f, counts in truth.items()}
            assert worst_ratio(world.counts(label, -1.0, epsilon), truth) <= (1 + epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("shape", ["path4", "star5"])
def test_messages_stay_short(engine: Engine, shape: str) -> None:
    """No key has more than 1/e' + ln(e' n)/ln(1 + e') + 2 entries for its n partial rows; uncompressed, most would."""
    with shaped(engine, shape, 10, Wish(method="sketch")) as world:
        plan, work = world.problem.plan, world.problem.work
        step = step_for(0.5, compressions([link.bags for link in plan.links]))
        program = tuple(counted(plan))
        lists = {s.table: s.query for s in program if s.table and s.table.startswith("sqlsvm_m")}
        assert len(lists) >= 2 * len(plan.links)
        longest = 0
        with work.scratch():
            work.run(program, world.asked(1.0, 0.5, levels(step, world.sketching.largest)))
            for table, query in lists.items():
                sizes = engine.fetch(entries_per_key(table, [n for n in query.named_selects if n not in ("s", "c")]))
                for entries, n in zip(sizes["entries"].astype(float), sizes["n"].astype(float), strict=True):
                    assert entries <= 1 / step + max(0.0, log(step * n * (1 + step)) / log1p(step)) + 2
                longest = max(longest, int(sizes["entries"].max()))
    assert longest > 1 / step


def entries_per_key(table: str, keys: list[str]) -> exp.Select:
    outputs = [(sql.count(), "entries"), (sql.total(sql.column("c")), "n")]
    return sql.group(sql.select(outputs, exp.to_table(table)), [sql.column(k) for k in keys])


# -- thresholds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["path4", "fork5"])
def test_thresholds_are_a_sketch_of_all_rows(engine: Engine, shape: str) -> None:
    """At every t the levels whose threshold reaches t count the rows with 1 - margin >= t, within 1 + epsilon."""
    with shaped(engine, shape, 11, Wish(method="sketch")) as world:
        for label, epsilon in ((-1.0, 0.1), (1.0, 1.0)):
            f, h = reached_at(world, label, epsilon)
            z = 1 - world.margins(label)[world.rows["y"] == label]
            for t in np.quantile(z, np.linspace(0, 1, 101)):
                true, known = np.sum(z >= t - 1e-9), f[h >= t - 1e-9].max(initial=0)
                assert true / (1 + epsilon) * (1 - 1e-9) <= known <= true


def reached_at(world: Shaped, label: float, epsilon: float) -> tuple[Values, Values]:
    plan, work = world.problem.plan, world.problem.work
    with work.scratch():
        asked = world.asked(label, 1.0, world.sketching.for_counts(epsilon, more=1))
        found = work.run(thresholds(plan), asked)[THRESHOLDS]
    f, h = found["f"].astype(float), found["threshold"].astype(float)
    assert np.all(np.diff(f) > 0)
    assert np.all(np.diff(h) < 0)
    return f, h


def test_the_hinge_two_ways(engine: Engine) -> None:
    """F-hat as the paper reads it off the thresholds, and as we compute it: within 1 + epsilon, and never too much."""
    for shape in ("path4", "star4"):
        with shaped(engine, shape, 12, Wish(method="sketch")) as world:
            for label, epsilon in ((-1.0, 0.1), (1.0, 1.0)):
                z = np.maximum(1 - world.margins(label)[world.rows["y"] == label], 0.0)
                read, computed = equation_6(*reached_at(world, label, epsilon)), hinge_of(world, label, epsilon)
                for found in (read, computed):
                    assert z.sum() / (1 + epsilon) * (1 - 1e-9) <= found <= z.sum() * (1 + 1e-9)
                if epsilon == 1.0:
                    assert max(read, computed) < 0.98 * z.sum()
        build(engine, "; ".join(f"DROP TABLE t{t}" for t in range(4)))


def equation_6(f: Values, h: Values) -> float:
    """sum over k < L of f_k (H_k - H_{k+1}), plus f_L H_L, with L the last k that has H_k >= 0.

    Levels that the sketch steps over have the threshold of the next one and add nothing."""
    f, h = f[h >= 0], h[h >= 0]
    return float(f[:-1] @ (h[:-1] - h[1:]) + f[-1] * h[-1])


def hinge_of(world: Shaped, label: float, epsilon: float) -> float:
    work = world.problem.work
    asked = world.asked(label, 1.0, world.sketching.for_counts(epsilon))
    with work.scratch():
        return float(work.run(excess(world.problem.plan), asked)[EXCESS][EXCESS][0])


# -- too large to make -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tables", [3, 4])
def test_a_join_of_ten_to_the_fifteen_rows(engine: Engine, tables: int) -> None:
    """10^5 rows a table, tied by one key or by none. Scores are sums of independent digits, so counts have a closed
    form. With four tables they exceed 2^53, where doubles round: a few units in the last place."""
    size, digits = 10**5, (200, 10, 500, 20)[:tables]
    for t, many in enumerate(digits):
        held = {"k": np.zeros(size, dtype=int), f"x{t}": np.arange(size) % many}
        label = {"y": np.where(np.arange(size) // many % 2, 1, -1)} if t == 1 else {}
        build(engine, f"CREATE TABLE t{t} (k INT, x{t} INT{', y INT' if t == 1 else ''})")
        engine.copy_in(meant(engine, f"t{t}"), {**held, **label})
    listed = ", ".join(f"x{t}" for t in range(tables))
    text = f"SELECT {listed}, y FROM {', '.join(f't{t}' for t in range(tables))} WHERE t0.k = t1.k"
    with workspace(engine) as work:
        problem = opened_problem(work, text, Wish(method="sketch", merged=True))
        assert problem.moments.n == pytest.approx(10.0 ** (5 * tables), rel=1e-12)
        world = Shaped(problem, {}, np.array([0.0, *np.ones(tables)]))
        for epsilon, bound in ((0.1, 333.0), (1.0, 77.0)):
            found = world.counts(1.0, bound, epsilon)
            assert worst_ratio(found, digit_counts(digits, size, bound)) <= (1 + epsilon) * (1 + 1e-9)


def digit_counts(digits: tuple[int, ...], size: int, bound: float) -> dict[str, dict[float, float]]:
    """Rows of one label, half of them, whose digits add up to less than bound, for each digit of each table."""
    found = {}
    for t, many in enumerate(digits):
        sums = np.array([size / many / 2])
        for other, values in enumerate(digits):
            if other != t:
                sums = np.convolve(sums, np.full(values, size / values))
        below = np.concatenate([[0.0], np.cumsum(sums)])
        room = [min(int(bound) - value, len(sums)) for value in range(many)]
        found[f"x{t}"] = {float(v): float(below[r]) for v, r in enumerate(room) if r > 0}
    return found


# -- pseudo-gradients --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["none", "maxabs"])
def test_pseudo_gradients_of_random_worlds(shared_engine: Engine, scale: svm.Scale) -> None:
    """-(1/N) sum of y x over the far rows, each count up to epsilon too low on `sketch`, exact on `exact`."""
    bags = set()
    for seed in range(600, 610):
        method = "exact" if seed % 2 else "sketch"
        wish = Wish(method="exact" if seed % 2 else "sketch", scale=scale)
        wishes: Wishes = {"continuous": True} if seed % 5 == 0 else MANY
        with opened_world(shared_engine, seed, wish, **wishes) as found:
            if found:
                bags.add((method, min(3, len(found.plan.bags))))
                assert_pseudo(found, np.random.default_rng(seed), 0.01 if seed % 3 else 0.4)
    assert {("exact", 2), ("sketch", 2), ("sketch", 3)} <= bags


def assert_pseudo(found: Opened, rng: np.random.Generator, epsilon: float) -> None:
    oracle = PseudoJoinOracle(found.problem)
    beta, here = found.normal(rng), found.places >= 0
    asked = np.zeros(oracle.dimension)
    asked[here] = beta[found.places[here]]
    x, y = found.truth.x, found.truth.y
    z = 1 - y * (x @ beta) - epsilon * (np.abs(x) @ np.abs(beta))
    assert is_clear(found.truth, beta)
    far, got = x[z >= 0], np.zeros(len(beta))
    got[found.places[here]] = oracle.pseudo_gradient(asked, epsilon)[here]
    noise = epsilon * np.abs(far).sum(axis=0) / len(y) if found.plan.method == "sketch" else 0.0
    assert np.all(np.abs(got + y[z >= 0] @ far / len(y)) <= noise + 1e-9)
    value, low = float(np.maximum(z, 0).mean()), oracle.value_low(asked, epsilon)
    assert value / (1 + epsilon if found.plan.method == "sketch" else 1) - 1e-9 <= low <= value + 1e-9


def test_a_row_just_as_far_as_it_must_be_is_far(engine: Engine) -> None:
    """With beta.x = x and epsilon = 1, x = 0.5 is on the edge of 1 - x >= |x|; on one bag and on two, which are three
    copies of it."""
    build(engine, "CREATE TABLE t (k INT, x DOUBLE PRECISION, y INT); CREATE TABLE s (k INT, z DOUBLE PRECISION)")
    held = {"k": np.ones(4, dtype=int), "x": np.array([0.5, 2, 2.5, 9]), "y": np.array([1, -1, 1, 1])}
    engine.copy_in(meant(engine, "t"), held)
    engine.copy_in(meant(engine, "s"), {"k": np.ones(3, dtype=int), "z": np.zeros(3)})
    for text in ("SELECT x, y FROM t", "SELECT x, z, y FROM t JOIN s ON t.k = s.k"):
        with workspace(engine) as work:
            pseudo = PseudoJoinOracle(opened_problem(work, text, Wish()))
            beta = np.zeros(pseudo.dimension)
            beta[1] = 1.0
            assert pseudo.pseudo_gradient(beta, 1.0)[1] == pytest.approx((-0.5 + 2.0) / 4, rel=1e-12)
            assert pseudo.value_low(beta, 1.0) == pytest.approx(1 / 4, rel=1e-12)
