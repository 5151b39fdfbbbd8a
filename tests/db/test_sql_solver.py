"""The functions of the solver in psql, one by one: what they compute is what numpy computes, on random input."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text, Values
from sqlsvm.options import Scale
from sqlsvm.plan.scaling import scaling
from sqlsvm.psql.stored_program.make import features
from sqlsvm.psql.stored_program.passes import facts_of_loss
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.curvature import Dense, Metric
from sqlsvm.solve.cuts import Bundle
from sqlsvm.solve.elastic import Elastic
from sqlsvm.solve.loss import HINGE, MODIFIED_HUBER, SQUARED_HINGE, named
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.penalty import L2, Penalty
from sqlsvm.solve.rounding import Rounding
from tests.unit.test_design import ROLES, made, moments_of

SEEDS = range(6)


@pytest.fixture(scope="module")
def engine(installed: Engine, installed_dsn: str) -> Iterator[Engine]:
    """A session of its own, for its temporary table."""
    with connect(installed_dsn) as engine:
        yield engine


def ask(engine: Engine, call: str, **given: Any) -> Any:
    """What a function returns; arguments and answers are JSON."""
    places = {name: f"CAST(${i} AS jsonb)" for i, name in enumerate(given, 1)}
    texts = [json.dumps(value.tolist() if isinstance(value, np.ndarray) else value) for value in given.values()]
    (answer,) = engine.fetch(Text(f"SELECT to_jsonb({call.format(**places)})::text AS answer"), texts)["answer"]
    return json.loads(answer)


def array(name: str) -> str:
    return f"ARRAY(SELECT v::float8 FROM jsonb_array_elements_text({name}) WITH ORDINALITY AS e (v, n) ORDER BY n)"


def record(type: str, name: str) -> str:
    return f"jsonb_populate_record(NULL::sqlsvm.{type}, {name})"


STATE, METRIC, PROBLEM = record("_state", "{at}"), record("_metric", "{metric}"), record("_problem", "{p}")
PENALTY, ROUNDING = record("_penalty", "{penalty}"), record("_rounding", "{rounding}")


class Case:
    """A bundle of random cuts with the zero cut, a point, a penalty and a curvature. Every other seed has l1, ends for
    some weights, and a row over several."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.count, self.dimension = int(self.rng.integers(1, 9)), int(self.rng.integers(2, 7))
        lam, d = float(10.0 ** self.rng.uniform(-4, 0)), self.dimension
        self.penalty: Penalty = L2(lam)
        self.l1, self.low, self.high = np.zeros(d), np.full(d, -np.inf), np.full(d, np.inf)
        self.row, self.shift = np.zeros((0, d)), np.zeros(0)
        if seed % 2:
            self.l1[1:] = float(10.0 ** self.rng.uniform(-3, -1))
            self.low[-1], self.high[0] = 0.0, 0.3
            self.row, self.shift = self.rng.normal(size=(1, d)), np.array([0.2])
            rows = np.vstack([np.eye(d)[[-1]], -np.eye(d)[[0]], self.row])
            names, shifts = ("low", "high", "row"), np.append([0.0, 0.3], self.shift)
            self.penalty = Elastic(lam, float(self.l1[-1]), Constraint(names, rows, shifts), constant=0)
        slopes = self.rng.normal(size=(self.count, d))
        offsets = self.rng.uniform(0.0, 1.0, self.count)
        self.slopes, self.offsets = np.vstack([np.zeros(d), slopes]), np.append(0.0, offsets)
        self.sizes = np.vstack([np.ones(2), self.rng.uniform(1.0, 9.0, (self.count, 2))])
        self.best = self.penalty.feasible(self.rng.normal(size=d))
        root = self.rng.normal(size=(d, d))
        self.curvature = root @ root.T * float(self.rng.uniform(0.1, 2.0))
        self.bundle = Bundle(self.penalty, d)
        for slope, offset in zip(slopes, offsets, strict=True):
            self.bundle.add(Cut(slope, float(offset), 0.0, 0.0, None))

    @property
    def metric(self) -> Dense:
        return Dense(self.curvature + self.penalty.curvature * np.eye(self.dimension))

    @property
    def told(self) -> dict[str, Any]:
        """The penalty, as a training in psql has it."""
        low, high = ([None if np.isinf(v) else v for v in ends] for ends in (self.low.tolist(), self.high.tolist()))
        return {"lambda": self.penalty.lam, "l1": self.l1.tolist(), "low": low, "high": high}

    @property
    def start(self) -> list[float]:
        return [*np.eye(self.count + 1)[0].tolist(), *([0.0] * len(self.shift))]

    def stored_cuts(self, engine: Engine) -> None:
        """sqlsvm_cuts and sqlsvm_vectors, as a training leaves them; the last cut is that of the best point. All but
        the smallest eigenvalue are stored."""
        _, vectors = np.linalg.eigh(self.curvature)
        for text in (
            "DROP TABLE IF EXISTS pg_temp.sqlsvm_cuts, pg_temp.sqlsvm_vectors",
            "CREATE TEMPORARY TABLE sqlsvm_cuts (place integer, pass integer, is_cut boolean, point float8[], "
            "slope float8[], intercept float8, offset_size float8, slope_size float8)",
            "CREATE TEMPORARY TABLE sqlsvm_vectors (k integer, vector float8[])",
        ):
            engine.execute(Text(text))
        for k, vector in enumerate(vectors.T[1:]):
            engine.execute(Text("INSERT INTO pg_temp.sqlsvm_vectors VALUES ($1, $2)"), [k + 1, vector.tolist()])
        insert = Text("INSERT INTO pg_temp.sqlsvm_cuts VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
        cuts = [(True, *each) for each in zip(self.slopes, self.offsets, self.sizes, strict=True)]
        cuts += [(False, -row, -shift, np.zeros(2)) for row, shift in zip(self.row, self.shift, strict=True)]
        for i, (is_cut, slope, offset, sizes) in enumerate(cuts):
            longer = [*slope.tolist(), *(vectors.T[1:] @ slope).tolist()]
            told = [i + 1, i, is_cut, self.best.tolist(), longer, float(offset), *sizes.tolist()]
            engine.execute(insert, told)

    @property
    def stored(self) -> dict[str, Any]:
        """As _metric.sql makes it."""
        values, _ = np.linalg.eigh(self.curvature)
        rest = 1.0 / (values[0] + self.penalty.curvature)
        inside = (1.0 / (values[1:] + self.penalty.curvature) - rest).tolist()
        places = list(range(1, self.dimension + 1))
        return {"places": places, "inside": inside, "rest": rest, "outside": [None] * self.dimension}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_dual_bound(engine: Engine, seed: int) -> None:
    """Of any multipliers, never above the driver's bound of the exact dual, and close to it."""
    case = Case(seed)
    alpha, xi = case.rng.dirichlet(np.ones(case.count + 1)) * (1 + 1e-12), case.rng.uniform(0, 0.1, len(case.shift))
    rounding = Rounding(1e-9, case.rng.uniform(0.1, 2.0, case.dimension), 3)
    case.stored_cuts(engine)
    call = f"sqlsvm._dual_bound({array('{alpha}')}, {PENALTY}, {ROUNDING})"
    told = {"share": rounding.share, "features": rounding.features, "sizes": rounding.sizes.tolist()}
    found = ask(engine, call, alpha=np.append(alpha, xi), penalty=case.told, rounding=told)
    exact = exact_dual(case, alpha, xi)
    assert exact - 1e-6 * (1 + abs(exact)) < found < exact


def exact_dual(case: Case, alpha: Values, xi: Values) -> float:
    """The minimum along each coordinate is at 0, at an end, or where the slope is 0."""
    slope, lam = alpha @ case.slopes - xi @ case.row, case.penalty.lam
    total = float(case.offsets @ alpha) - float(case.shift @ xi)
    for j, g in enumerate(slope):
        candidates = np.array(
            [0.0, case.low[j], case.high[j], *(-(g + way * case.l1[j]) / (2 * lam) for way in (-1, 1))]
        )
        b = candidates[np.isfinite(candidates) & (candidates >= case.low[j]) & (candidates <= case.high[j])]
        total += float((g * b + lam * b**2 + case.l1[j] * np.abs(b)).min())
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_of_the_best_multipliers(engine: Engine, seed: int) -> None:
    """They prove as much as those of the driver."""
    case = Case(seed)
    case.stored_cuts(engine)
    best = f"sqlsvm._multipliers(sqlsvm._lowest_shape({PENALTY}), {array('{start}')})"
    told = {"share": 0.0, "features": 0, "sizes": [0.0] * case.dimension}
    call = f"sqlsvm._dual_bound({best}, {PENALTY}, {ROUNDING})"
    found = ask(engine, call, start=case.start, penalty=case.told, rounding=told)
    assert found == pytest.approx(case.bundle.lower_bound(), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_step_in_the_metric(engine: Engine, seed: int) -> None:
    case = Case(2 * seed)
    case.stored_cuts(engine)
    at = {"best": case.count, "heap": False, "alpha": case.start}
    found = np.array(
        ask(engine, f"sqlsvm._metric_point({STATE}, {METRIC}, {PENALTY})", at=at, metric=case.stored, penalty=case.told)
    )
    peer = case.bundle.step(case.best, Metric(case.metric))
    here, there = (case.bundle.model(b) + (b - case.best) @ case.curvature @ (b - case.best) / 2 for b in (found, peer))
    assert here == pytest.approx(there, rel=1e-4)


@pytest.mark.parametrize("has_l1", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_step_within_limits(engine: Engine, seed: int, has_l1: bool) -> None:
    """With l1 some weights change their sign in the step, and some end at 0."""
    case = Case(2 * seed + 1)
    case.l1 *= has_l1
    rows = case.penalty.constraint if isinstance(case.penalty, Elastic) else Constraint.none(case.dimension)
    penalty = Elastic(case.penalty.lam, float(case.l1[-1]), rows, constant=0)
    case.stored_cuts(engine)
    at = {"best": case.count, "heap": False, "alpha": case.start}
    call = f"sqlsvm._metric_point({STATE}, {METRIC}, {PENALTY})"
    found = np.array(ask(engine, call, at=at, metric=case.stored, penalty=case.told))
    bundle = Bundle(penalty, case.dimension)
    for slope, offset in zip(case.slopes[1:], case.offsets[1:], strict=True):
        bundle.add(Cut(slope, float(offset), 0.0, 0.0, None))
    peer = bundle.step(case.best, Metric(case.metric))
    near = penalty.feasible(found)
    np.testing.assert_allclose(near, found, atol=1e-6)
    here, there = (bundle.model(b) + (b - case.best) @ case.curvature @ (b - case.best) / 2 for b in (near, peer))
    assert here == pytest.approx(there, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loss_of_pieces(engine: Engine, seed: int) -> None:
    z = float(np.random.default_rng(seed).normal(scale=2.0))
    for loss in (HINGE, SQUARED_HINGE, MODIFIED_HUBER, named("quantile", quantile=0.9), named("huber", delta=0.5)):
        pieces = facts_of_loss(loss, (0.0, 0.0))["pieces"]
        found = ask(engine, "to_jsonb(sqlsvm._psi({pieces}, ({z})::float8))", pieces=pieces, z=z)
        assert found == pytest.approx(float(loss.value(np.array([z]))[0]))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("how", ["standard", "maxabs", "none"])
@pytest.mark.parametrize("seed", [1, 2])
def test_scaling(engine: Engine, how: Scale, intercept: bool, seed: int) -> None:
    """With two categories, a number that may be missing and one that is not."""
    rng = np.random.default_rng(seed)
    design = made(ROLES[0 if intercept else 1 :])
    x = rng.normal(rng.normal(size=design.size), 2.0, (50, design.size))
    places, absent = {(c.feature, c.role): c.index for c in design.coordinates}, rng.random(50) < 0.3
    x[:, places["a", "missing"]] = absent
    x[absent, places["a", "value"]] = 0.0
    x[:, [index for (_, role), index in places.items() if role == "intercept"]] = 1.0
    moments = moments_of(x)
    peer = scaling(design, moments, how)
    p = {
        "design": {"coordinates": [None] * len(design.coordinates), "features": features(design)},
        "n": 50,
        "size": design.size,
    }
    p |= {name: getattr(moments, name).tolist() for name in ("total", "squares", "largest")}
    scaled = f"sqlsvm._scaled({PROBLEM}, {{how}} #>> '{{{{}}}}')"
    beta, sums = rng.normal(size=peer.dimension), rng.normal(size=design.size)
    for function, given, wanted in (
        ("_to_raw", beta, peer.to_raw(beta)),
        ("_from_raw", sums, peer.from_raw(sums)),
        ("_to_scaled", peer.to_raw(beta), beta),
    ):
        found = ask(engine, f"sqlsvm.{function}({scaled}, {array('{v}')})", p=p, how=how, v=given)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_measures(engine: Engine, seed: int) -> None:
    """Of counts that are known exactly, and of bounds on them: each measure is between its bounds wherever they are."""
    rng = np.random.default_rng(seed)
    p, n = (float(v) for v in rng.integers(1, 50, 2))
    tp, fp = np.sort(rng.integers(0, int(p) + 1, 3)), np.sort(rng.integers(0, int(n) + 1, 3))
    seen = {"positives": p, "negatives": n, "auc": [0.5, 0.4, 0.6]}
    seen |= {"true_positive": tp[[1, 0, 2]].tolist(), "false_positive": fp[[1, 0, 2]].tolist()}
    call = f"(SELECT jsonb_object_agg(m.measure, m.found) FROM sqlsvm._measures({record('_seen', '{seen}')}) AS m)"
    found: dict[str, Values] = {name: np.array(values) for name, values in ask(engine, call, seen=seen).items()}
    for t, f in [(t, f) for t in tp for f in fp]:
        told = measured(float(t), float(f), p, n)
        assert set(told) == set(found) - {"auc"}
        for name, value in told.items():
            assert found[name][1] - 1e-12 <= value <= found[name][2] + 1e-12, name
    for name, value in measured(float(tp[1]), float(fp[1]), p, n).items():
        assert found[name][0] == pytest.approx(value), name


def measured(tp: float, fp: float, p: float, n: float) -> dict[str, float]:
    recall, tn = tp / p, n - fp
    return {
        "true_positive": tp,
        "false_positive": fp,
        "true_negative": tn,
        "false_negative": p - tp,
        "accuracy": (tp + tn) / (n + p),
        "precision": tp / (tp + fp) if tp + fp else 0.0,
        "recall": recall,
        "f1": 2 * tp / (p + tp + fp),
        "balanced_accuracy": (recall + tn / n) / 2,
    }
