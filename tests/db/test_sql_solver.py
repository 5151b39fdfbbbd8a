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
from sqlsvm.solve.curvature import Dense, Metric
from sqlsvm.solve.cuts import Bundle, dual_bound
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.rounding import Rounding
from sqlsvm.solve.simplex_qp import solve_simplex_qp
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


class Case:
    """A bundle of random cuts with the zero cut, a point, a penalty and a curvature."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.count, self.dimension = int(self.rng.integers(1, 9)), int(self.rng.integers(1, 7))
        self.penalty = L2(float(10.0 ** self.rng.uniform(-4, 0)))
        slopes = self.rng.normal(size=(self.count, self.dimension))
        offsets = self.rng.uniform(0.0, 1.0, self.count)
        self.slopes, self.offsets = np.vstack([np.zeros(self.dimension), slopes]), np.append(0.0, offsets)
        self.sizes = np.vstack([np.ones(2), self.rng.uniform(1.0, 9.0, (self.count, 2))]).tolist()
        self.best = self.rng.normal(size=self.dimension)
        root = self.rng.normal(size=(self.dimension, self.dimension))
        self.curvature = root @ root.T * float(self.rng.uniform(0.1, 2.0))
        self.bundle = Bundle(self.penalty, self.dimension)
        for slope, offset in zip(slopes, offsets, strict=True):
            self.bundle.add(Cut(slope, float(offset), 0.0, 0.0, None))

    @property
    def metric(self) -> Dense:
        return Dense(self.curvature + self.penalty.curvature * np.eye(self.dimension))

    @property
    def stored(self) -> dict[str, Any]:
        """As _metric.sql makes it: all but the smallest eigenvalue."""
        values, vectors = np.linalg.eigh(self.curvature)
        outside = 1.0 / (values[0] + self.penalty.curvature)
        return {
            "places": list(range(1, self.dimension + 1)),
            "vectors": vectors.T[1:].ravel().tolist(),
            "inside": (1.0 / (values[1:] + self.penalty.curvature) - outside).tolist(),
            "outside": [outside] * self.dimension,
        }

    def stored_cuts(self, engine: Engine) -> None:
        """sqlsvm_cuts, as a training leaves it; the last cut is that of the best point."""
        images = np.array([Metric(self.metric).image(slope) for slope in self.slopes])
        engine.execute(Text("DROP TABLE IF EXISTS pg_temp.sqlsvm_cuts"))
        engine.execute(
            Text(
                "CREATE TEMPORARY TABLE sqlsvm_cuts (pass integer, point float8[], slope float8[], intercept float8, "
                "products float8[], image float8[], products_of_images float8[], offset_size float8, slope_size float8)"
            )
        )
        insert = Text("INSERT INTO pg_temp.sqlsvm_cuts VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
        for i, (slope, offset, image) in enumerate(zip(self.slopes, self.offsets, images, strict=True)):
            known = self.slopes[: i + 1]
            numbers = [self.best, slope, known @ slope, image, known @ image]
            point, slope_, products, image_, scaled = (n.tolist() for n in numbers)
            engine.execute(insert, [i, point, slope_, float(offset), products, image_, scaled, *self.sizes[i]])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_dual_bound(engine: Engine, seed: int) -> None:
    case = Case(seed)
    alpha = case.rng.dirichlet(np.ones(case.count + 1)) * (1 + 1e-12)
    rounding = Rounding(1e-9, case.rng.uniform(0.1, 2.0, case.dimension), 3)
    case.stored_cuts(engine)
    call = f"sqlsvm._dual_bound({array('{alpha}')}, ({{lam}})::float8, {record('_rounding', '{rounding}')})"
    told = {"share": rounding.share, "features": rounding.features, "sizes": rounding.sizes.tolist()}
    found = ask(engine, call, alpha=alpha, lam=case.penalty.lam, rounding=told)
    rounding = rounding.times(*(alpha @ np.array(case.sizes)).tolist())
    exact = float(case.offsets @ alpha) - case.penalty.conjugate(float(np.linalg.norm(alpha @ case.slopes)))
    assert found == pytest.approx(dual_bound(case.slopes, case.offsets, alpha, case.penalty, rounding), rel=1e-10)
    assert found < exact


@pytest.mark.parametrize("seed", SEEDS)
def test_the_simplex_qp(engine: Engine, seed: int) -> None:
    case = Case(seed)
    gram, curvature = case.slopes @ case.slopes.T, case.penalty.curvature
    start = np.eye(case.count + 1)[0]
    call = f"sqlsvm._simplex({array('{gram}')}, {array('{offsets}')}, ({{lam}})::float8, {array('{start}')})"
    given = {"gram": gram.ravel(), "offsets": case.offsets, "lam": case.penalty.lam, "start": start}
    found, peer = np.array(ask(engine, call, **given)), solve_simplex_qp(gram, case.offsets, curvature, start)
    value, best = (float(case.offsets @ a - a @ gram @ a / (2.0 * curvature)) for a in (found, peer))
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert value == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_image_in_the_metric(engine: Engine, seed: int) -> None:
    case = Case(seed)
    call = f"sqlsvm._image({METRIC}, {array('{v}')})"
    found = ask(engine, call, metric=case.stored, v=case.best)
    np.testing.assert_allclose(found, case.metric.solve(case.best, 0.0), rtol=1e-8)


def test_the_image_beside_the_dense_columns(engine: Engine) -> None:
    """A column that is gone leaves its place empty; one that is new has its own curvature."""
    metric = {"places": [3, None], "vectors": [0.6, 0.8], "inside": [-1.0], "outside": [0.5, 0.25, 2.0]}
    found = ask(engine, f"sqlsvm._image({METRIC}, {array('{v}')})", metric=metric, v=[4.0, 8.0, 1.0])
    assert found == pytest.approx([2.0, 2.0, 2.0 - 0.36])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_step_in_the_metric(engine: Engine, seed: int) -> None:
    case = Case(seed)
    case.stored_cuts(engine)
    at = {"best": case.count, "heap": False, "alpha": np.eye(case.count + 1)[0].tolist()}
    call = f"sqlsvm._metric_point({STATE}, {METRIC}, ({{lam}})::float8)"
    found = np.array(ask(engine, call, at=at, metric=case.stored, lam=case.penalty.lam))
    peer = case.bundle.step(case.best, Metric(case.metric))
    here, there = (case.bundle.model(b) + (b - case.best) @ case.curvature @ (b - case.best) / 2 for b in (found, peer))
    assert here == pytest.approx(there, rel=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_level_step(engine: Engine, seed: int) -> None:
    case = Case(seed)
    case.stored_cuts(engine)
    lower, here = case.bundle.lower_bound(), case.bundle.model(case.best)
    at = {"best": case.count, "alpha": np.eye(case.count + 1)[0].tolist(), "objective": here, "lower_bound": lower}
    found = np.array(ask(engine, f"sqlsvm._level_point({STATE}, ({{lam}})::float8)", at=at, lam=case.penalty.lam))
    level = 0.7 * here + 0.3 * lower
    assert case.bundle.model(found) <= level + 1e-9
    peer = case.bundle.project(case.best, level)
    assert np.linalg.norm(found - case.best) == pytest.approx(np.linalg.norm(peer - case.best), rel=1e-5, abs=1e-8)


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
    told = [{"place": c.index + 1, "feature": c.feature, "role": c.role} for c in design.coordinates]
    p = {"design": {"coordinates": told}, "n": 50, "size": design.size}
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
