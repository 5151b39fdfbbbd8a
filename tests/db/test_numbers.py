"""Labels that are numbers: cuts against the joined rows, trainings against a peer, measures."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sqlglot import parse_one

from sqlsvm import (
    RelationalHuberRegressor,
    RelationalLogisticRegression,
    RelationalQuantileRegressor,
    RelationalRidge,
    RelationalSVC,
    RelationalSVR,
)
from sqlsvm.ask.evaluate import residuals
from sqlsvm.ask.inspect import inspect
from sqlsvm.ask.rows import on_all, on_parts
from sqlsvm.engine.base import Engine, Text, Values
from sqlsvm.errors import DataError, OptionError
from sqlsvm.estimator import ParameterError
from sqlsvm.model.evaluation import Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import NUMBER_LOSSES, Counting, LossName
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.ground.brute import in_unit
from tests.ground.joins import Join, star
from tests.ground.opened import build
from tests.ground.sql_program import call, compiled, trained
from tests.ground.trained import sensible, training
from tests.psql import complaint
from tests.typed import asked, meant, typed

TUBE, QUANTILE, DELTA = 0.3, 0.9, 0.5
PIECES = ((1.0, -0.5), (None, -1.0, 0.0))
FORMULAS: dict[str, tuple[Callable[[Values], Values], Callable[[Values], Values]]] = {
    "epsilon_insensitive": (lambda z: np.maximum(np.abs(z) - TUBE, 0), lambda z: np.sign(z) * (np.abs(z) > TUBE)),
    "squared_epsilon_insensitive": (
        lambda z: np.maximum(np.abs(z) - TUBE, 0) ** 2,
        lambda z: 2 * np.sign(z) * np.maximum(np.abs(z) - TUBE, 0),
    ),
    "quantile": (
        lambda z: np.maximum(QUANTILE * z, (QUANTILE - 1) * z),
        lambda z: np.where(z > 0, QUANTILE, QUANTILE - 1),
    ),
    "absolute": (np.abs, np.sign),
    "huber": (
        lambda z: np.where(np.abs(z) < DELTA, z * z / 2, DELTA * np.abs(z) - DELTA**2 / 2),
        lambda z: np.clip(z, -DELTA, DELTA),
    ),
    "squared": (lambda z: z * z / 2, lambda z: z),
    "custom": (
        lambda z: np.maximum(z - 0.5, 0) + np.minimum(z, 0) ** 2 / 2,
        lambda z: 1.0 * (z > 0.5) + np.minimum(z, 0),
    ),
}
"""psi and psi' of the residual."""
every_loss = pytest.mark.parametrize("loss", NUMBER_LOSSES)


def test_every_loss_is_here() -> None:
    assert set(FORMULAS) == set(NUMBER_LOSSES)


def regression(loss: LossName, **options: Any) -> Training:
    return sensible(loss=loss, tube=TUBE, quantile=QUANTILE, delta=DELTA, pieces=PIECES, **options)


@dataclass(frozen=True)
class Rows:
    """The rows of the join: the label, scaled features with a constant, weights."""

    t: Values
    x: Values
    w: Values
    names: tuple[str, ...]
    centre: Values
    width: Values

    def objective(self, beta: Values, loss: str, lam: float, label_centre: float) -> float:
        z, lam = self.t - label_centre - self.x @ beta, self.penalty(loss, lam)[0]
        return float(self.w @ FORMULAS[loss][0](z)) / float(self.w.sum()) + lam * float(beta @ beta)

    def penalty(self, loss: str, lam: float, l1: float = 0.0, delta: float = DELTA) -> tuple[float, float]:
        """lambda and l1 for the label as it is, where they are for a label in its deviations."""
        return in_unit(loss, lam, l1, self.t - self.w @ self.t / self.w.sum(), self.w, delta)


def rows_of(engine: Engine, text: str, weight: str | None = None) -> Rows:
    found = asked(engine, parse_one(text, read=engine.dialect))
    t = found.pop("y").astype(float)
    w = found.pop(weight).astype(float) if weight else np.ones(len(t))
    raw = np.column_stack([values.astype(float) for values in found.values()])
    centre = w @ raw / w.sum()
    width = np.sqrt(np.maximum(w @ (raw - centre) ** 2 / w.sum(), 0))
    width[width < 1e-9] = 1.0
    x = np.column_stack([np.ones(len(t)), (raw - centre) / width])
    return Rows(t, x, w, tuple(found), centre, width)


def beta_of(model: Model, rows: Rows) -> Values:
    known = {w.feature: w.scaled_weight for w in model.weights}
    assert model.scaled_intercept is not None
    return np.array([model.scaled_intercept, *(known[name] for name in rows.names)])


def best(rows: Rows, loss: str, lam: float, label_centre: float) -> float:
    """F at the optimum: of a squared loss in closed form, else by a cone solver on the epigraph."""
    t, x, share, asked_for = rows.t - label_centre, rows.x, rows.w / rows.w.sum(), lam
    lam = rows.penalty(loss, lam)[0]
    if loss == "squared":
        hessian = (x * share[:, None]).T @ x + 2 * lam * np.eye(x.shape[1])
        beta = np.linalg.solve(hessian, x.T @ (share * t))
        return rows.objective(beta, loss, asked_for, label_centre)
    psi, u = FORMULAS[loss]
    start = np.linalg.lstsq(x, t, rcond=None)[0]

    def smooth(beta: Values, width: float) -> tuple[float, Values]:
        """Each jump of the slope becomes a ramp."""
        nodes = np.linspace(-1, 1, 9) * width
        z = t - x @ beta
        value = np.mean([psi(z + n) for n in nodes], axis=0)
        slope = np.mean([u(z + n) for n in nodes], axis=0)
        return float(share @ value) + lam * float(beta @ beta), -(share * slope) @ x + 2 * lam * beta

    beta, found = start, np.inf
    scale = float(np.abs(t).max()) or 1.0
    for width in scale * 10.0 ** -np.arange(1, 8):
        options = {"gtol": 1e-11, "ftol": 1e-15, "maxiter": 3000, "maxfun": 30_000}
        beta = minimize(smooth, beta, (width,), jac=True, method="L-BFGS-B", options=options).x
        found = min(found, rows.objective(beta, loss, asked_for, label_centre))
    return found


def numbers(rng: np.random.Generator, rows: int = 1500, noise: float = 0.6, shift: float = 50.0) -> Join:
    """The star with a label that is a number."""
    join = star(rng, rows)
    sales, stores = join.rows["sales"], join.rows["stores"]
    size, qty = stores["size"][sales["store"]], sales["qty"]
    y = shift + 2 * qty + (size - 30) / 9 + noise * rng.standard_t(3, rows)
    return Join(
        join.script.replace("y BOOLEAN", "y FLOAT8"),
        join.rows | {"sales": sales | {"y": y}},
        join.query.replace("st.open, ", ""),
    )


def proven(engine: Engine, text: str, asked_for: Training, *, beside: bool = True) -> Model:
    """lower_bound <= the peer's best <= F(model) <= objective_upper, and F within the gap of the best. The peer takes
    long on a join with many rows: not `beside`, it is left out."""
    rows, loss, lam = rows_of(engine, text, asked_for.weight), asked_for.loss, asked_for.lam
    model = train(engine, "m", text, asked_for)
    value = rows.objective(beta_of(model, rows), loss, lam, model.label_centre)
    close = 1e-9 * (1 + value)
    assert model.objective - close <= value <= model.objective_upper + close
    peer = best(rows, loss, lam, model.label_centre) if beside else value
    assert model.lower_bound - close <= peer
    assert not model.converged or value <= peer * (1 + 1.01e-3) + close
    return model


@pytest.mark.thin(3)
@every_loss
@pytest.mark.parametrize("lam", [1e-2, 1e-4])
def test_a_training_is_proven(engine: Engine, loss: LossName, lam: float) -> None:
    join = numbers(np.random.default_rng(1))
    with join.created(engine):
        model = proven(engine, join.query, regression(loss, lam=lam))
    assert model.converged
    assert model.passes <= 4
    assert model.label_rows == {}
    assert model.join_rows == 1500


@pytest.mark.thin(3)
@every_loss
@pytest.mark.parametrize("scale", ["star", "weights"])
def test_a_cut_is_that_of_the_joined_rows(engine: Engine, loss: LossName, scale: str) -> None:
    """Plain passes and soft ones, also at a beta at which many residuals lie on the knots."""
    rng = np.random.default_rng(3)
    build(engine, "CREATE TABLE f (y INT, x INT, w INT)")
    engine.copy_in(
        meant(engine, "f"), {"y": rng.integers(-2, 3, 200), "x": rng.integers(-2, 3, 200), "w": rng.integers(0, 3, 200)}
    )
    weight = "w" if scale == "weights" else None
    text = f"SELECT y, x{', w' if weight else ''} FROM f"
    given = sensible(loss=loss, tube=0.5, quantile=0.75, delta=1.0, pieces=PIECES, weight=weight, scale="none")
    psi = given.named_loss
    found = asked(engine, parse_one(text, read=engine.dialect))
    share = found["w"].astype(float) if weight else np.ones(200)
    share, x = share / share.sum(), np.column_stack([np.ones(200), found["x"].astype(float)])
    with open_problem(engine, text, given) as problem:
        oracle, t = JoinOracle(problem), found["y"].astype(float) - problem.plan.design.target.centre
        for beta in (np.zeros(2), np.array([-problem.plan.design.target.centre, 0.5]), rng.normal(size=2)):
            z = t - x @ beta
            for width in (0.0, *([0.3] if oracle.soft else [])):
                u = psi.smoothed(width).slope(z)
                cut = oracle.pass_(beta, None, width)
                assert cut.value_low == pytest.approx(float(share @ psi.value(z)), rel=1e-9, abs=1e-9)
                assert cut.offset == pytest.approx(float(share @ (u * t - psi.conjugate(u))), rel=1e-9, abs=1e-9)
                np.testing.assert_allclose(cut.slope, -(share * u) @ x, rtol=1e-9, atol=1e-9)


def met(rng: np.random.Generator, bags: int, *, whole: bool = False, size: float = 1.0, shift: float = 0.0) -> Join:
    """Facts with a label that is a number, met by one table or by two, many-to-many. In `whole` numbers residuals lie
    on the knots, and the label has no centre that could round them."""
    count = 60 if whole else 500
    x, v, z = (rng.integers(-2, 3, n) * 1.0 if whole else rng.normal(size=n) for n in (count, 40, 40))
    label = np.round(x + rng.normal(size=count)) if whole else x + 0.7 * rng.standard_t(3, count)
    label = np.r_[label[: count // 2], -label[: count // 2]] if whole else label
    f = {"k": rng.integers(0, 8, count), "j": rng.integers(0, 8, count), "y": shift + size * label, "x": x}
    held = {"f": f, "g": {"gk": rng.integers(0, 8, 40), "v": v}, "h": {"hj": rng.integers(0, 8, 40), "z": z}}
    script = """CREATE TABLE f (k INT, j INT, y FLOAT8, x FLOAT8);
        CREATE TABLE g (gk INT, v FLOAT8); CREATE TABLE h (hj INT, z FLOAT8)"""
    more = (", h.z", " JOIN h ON h.hj = f.j") if bags == 3 else ("", "")
    return Join(script, held, f"SELECT f.y, f.x, g.v{more[0]} FROM f JOIN g ON g.gk = f.k{more[1]}")


@pytest.mark.thin(3)
@pytest.mark.parametrize("bags", [2, 3])
@pytest.mark.parametrize("whole", [True, False], ids=["on the knots", "between"])
def test_a_cut_over_several_bags_is_that_of_the_joined_rows(engine: Engine, bags: int, whole: bool) -> None:
    rng = np.random.default_rng(3)
    join = met(rng, bags, whole=whole)
    with join.created(engine):
        rows = rows_of(engine, join.query)
        share = rows.w / rows.w.sum()
        for loss in NUMBER_LOSSES:
            given = sensible(
                loss=loss, tube=0.5, quantile=0.75, delta=1.0, pieces=PIECES, scale="none", counting="exact"
            )
            psi = given.named_loss
            with open_problem(engine, join.query, given) as problem:
                oracle, centre = JoinOracle(problem), problem.plan.design.target.centre
                t, raw = rows.t - centre, rows.x[:, 1:] * rows.width + rows.centre
                x = np.column_stack([np.ones(len(t)), np.round(raw) if whole else raw])
                for beta in (np.r_[-centre, rng.integers(-2, 3, bags) / 2.0], rng.normal(size=1 + bags)):
                    z = t - x @ beta
                    for width in (0.0, *([0.3] if oracle.soft else [])):
                        u, cut = psi.smoothed(width).slope(z), oracle.pass_(beta, None, width)
                        assert cut.value_low == pytest.approx(float(share @ psi.value(z)), rel=1e-9, abs=1e-9)
                        offset = float(share @ (u * t - psi.conjugate(u)))
                        assert cut.offset == pytest.approx(offset, rel=1e-9, abs=1e-9)
                        np.testing.assert_allclose(cut.slope, -(share * u) @ x, rtol=1e-9, atol=1e-9)


@pytest.mark.thin(3)
@every_loss
def test_a_training_over_two_bags_is_proven(engine: Engine, loss: LossName) -> None:
    proven_over(engine, 2, regression(loss, lam=1e-2, sample=3000))


@pytest.mark.thin(5)
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "quantile", "huber", "squared"])
@pytest.mark.parametrize("counting", ["exact", "grid"])
def test_a_training_over_three_bags_is_proven(engine: Engine, loss: LossName, counting: Counting) -> None:
    proven_over(engine, 3, regression(loss, lam=1e-3, counting=counting, sample=3000))


def proven_over(engine: Engine, bags: int, given: Training) -> None:
    join = met(np.random.default_rng(5), bags)
    with join.created(engine):
        model = proven(engine, join.query, given, beside=bags == 2)
    assert (model.converged, model.bags) == (True, bags)
    assert model.passes <= 5  # a small join is smaller than its sample, so rows repeat there


@pytest.mark.parametrize("size", [1e-2, 1e6])
@pytest.mark.parametrize("counting", ["exact", "grid"])
def test_labels_of_any_size_over_several_bags(duckdb: Engine, counting: Counting, size: float) -> None:
    """Buckets are fractions of the label."""
    join = met(np.random.default_rng(6), 3, size=size, shift=1e3 * size)
    with join.created(duckdb):
        for loss in ("absolute", "squared"):
            asked_for = training(loss=loss, lam=1e-3, counting=counting, sample=4000)
            model = proven(duckdb, join.query, asked_for, beside=False)
            assert model.converged
            assert model.passes <= 6


@every_loss
@pytest.mark.parametrize("bags", [1, 2])
def test_the_unit_of_a_label_changes_nothing(duckdb: Engine, loss: LossName, bags: int) -> None:
    """Weights are in the unit of the label, with tube, delta and pieces, and passes, gap and l1 are the same."""
    found: dict[float, list[tuple[Values, Model]]] = {}
    for k in (1.0, 1e-3, 1e6):
        rng = np.random.default_rng(9)
        join = numbers(rng, 600, shift=5.0) if bags == 1 else met(rng, bags)
        side = next(rows for rows in join.rows.values() if "y" in rows)
        side["y"] = k * side["y"]
        pieces = ((1.0, -0.3 * k), (-1.0, 0.2 * k))
        options: dict[str, Any] = {"tube": 0.3 * k, "delta": 0.5 * k, "pieces": pieces, "in_memory": 0}
        with join.created(duckdb):
            for l1 in (0.0, 0.01):
                given = sensible(loss=loss, quantile=0.7, lam=1e-3, l1=l1, **options)
                model = train(duckdb, "m", join.query, given)
                each = np.array([*(w.weight for w in model.weights), model.intercept])
                found.setdefault(l1, []).append((each / k, model))
    for models in found.values():
        weights, first = models[0]
        for others, model in models[1:]:
            assert np.abs(others - weights).max() <= 0.01 * np.abs(weights).max()
            assert abs(model.passes - first.passes) <= 1
            assert (first.converged, model.converged) == (True, True)


@pytest.mark.slow
def test_the_loss_of_huber_of_a_label_in_the_thousands(duckdb: Engine) -> None:
    """Most of the loss is straight there, and lambda weighs as with the absolute loss."""
    join = numbers(np.random.default_rng(9), 600)
    join.rows["sales"]["y"] *= 2000.0
    with join.created(duckdb):
        for options in ({}, {"solver": "bundle"}, {"in_memory": 0, "intercept": "free"}, {"in_memory": 0, "l1": 0.01}):
            model = train(duckdb, "m", join.query, training(loss="huber", lam=1e-3, **options))
            absolute = train(duckdb, "m", join.query, training(loss="absolute", lam=1e-3, **options))
            assert model.converged
            assert model.passes <= 40
            each, others = (np.array([w.weight for w in found.weights]) for found in (model, absolute))
            np.testing.assert_allclose(each, others, atol=0.05 * np.abs(others).max())


@pytest.mark.parametrize("loss", ["absolute", "squared_epsilon_insensitive"])
def test_the_rounding_of_a_label_counts_without_features_beside_it(engine: Engine, loss: LossName) -> None:
    """On a coarse grid the bag of the label has no score, but its label is rounded."""
    join = met(np.random.default_rng(6), 3)
    text = join.query.replace("f.x, ", "")
    given = regression(loss, counting="grid", intercept=False)
    with join.created(engine), open_problem(engine, text, given) as it:
        rows, beta = rows_of(engine, text), np.zeros(2)
        cut, centre = JoinOracle(it).pass_(beta, 2), it.plan.design.target.centre
    value = float(FORMULAS[loss][0](rows.t - centre - rows.x[:, 1:] @ beta).mean())
    assert cut.error > 0
    assert cut.value_low - 1e-9 <= value <= cut.value_low + cut.error + 1e-9


HOSTILE = {
    "far from 0": (np.arange(60.0) % 7 + 1e9, 1),
    "constant": (np.full(60, 3.0), 1),
    "two values": (np.arange(60.0) % 2, 1),
    "heap": (np.where(np.arange(60) % 10 == 0, 5.0, 0.0), 1),
    "large": (1e6 * (np.arange(60.0) % 11), 1),
}


@every_loss
@pytest.mark.parametrize("case", HOSTILE)
def test_the_certificate_holds_for_hostile_labels(shared_engine: Engine, loss: LossName, case: str) -> None:
    y, _ = HOSTILE[case]
    rng = np.random.default_rng(4)
    build(shared_engine, "CREATE TABLE hostile (y FLOAT8, a FLOAT8, b INT)")
    try:
        shared_engine.copy_in(
            meant(shared_engine, "hostile"), {"y": y, "a": y % 5 + rng.normal(size=60), "b": rng.integers(0, 4, 60)}
        )
        for quantile, tube in ((0.001, 0.0), (0.999, 0.5)):
            options: dict[str, Any] = {"tube": tube, "delta": 0.5, "pieces": PIECES, "max_passes": 40}
            given = sensible(loss=loss, quantile=quantile, lam=1e-3, **options)
            checked(shared_engine, "SELECT y, a, b FROM hostile", given)
    finally:
        typed(shared_engine, "DROP TABLE hostile")


def checked(engine: Engine, text: str, given: Training, trained: Callable[[], Model] | None = None) -> None:
    """The certificate is true for the rows, and no point that a peer finds is below it."""
    rows, psi = rows_of(engine, text), given.named_loss
    model = trained() if trained else train(engine, "m", text, given)
    beta, t = beta_of(model, rows), rows.t - model.label_centre
    lam = rows.penalty(given.loss, given.lam, delta=given.delta)[0]

    def objective(beta: Values) -> float:
        return float(psi.value(t - rows.x @ beta).mean()) + lam * float(beta @ beta)

    value = objective(beta)
    close = 1e-7 * (1 + value)
    assert model.objective - close <= value <= model.objective_upper + close
    for start in (np.zeros(3), beta, np.linalg.lstsq(rows.x, t, rcond=None)[0]):
        assert model.lower_bound <= minimize(objective, start, method="Nelder-Mead").fun + close


def test_measures_are_those_of_the_rows(engine: Engine) -> None:
    join = numbers(np.random.default_rng(2), 400)
    with join.created(engine):
        model = train(engine, "m", join.query, training(loss="quantile", quantile=0.9))
        found = on_all(engine, model, lambda problem: residuals(problem, model))
        rows = rows_of(engine, join.query)
        predicted = engine.fetch(predict(engine, model))
    z = rows.t - model.label_centre - rows.x @ beta_of(model, rows)
    assert found.rows == 400
    assert found.mae == pytest.approx(np.abs(z).mean())
    assert found.rmse == pytest.approx(np.sqrt((z * z).mean()))
    assert found.r2 == pytest.approx(1 - (z * z).sum() / ((rows.t - rows.t.mean()) ** 2).sum())
    assert found.pinball == pytest.approx(np.maximum(0.9 * z, -0.1 * z).mean())
    assert found.coverage == pytest.approx((z <= 0).mean(), abs=1 / 400)
    assert sum(found.counts) == 400
    assert found.edges[0] == pytest.approx(z.min())
    np.testing.assert_allclose(predicted["prediction"].astype(float), predicted["score"].astype(float))
    np.testing.assert_allclose(np.sort(predicted["y"].astype(float) - predicted["score"].astype(float)), np.sort(z))


@pytest.mark.thin(3)
@pytest.mark.parametrize("counting", ["exact", "grid"])
@pytest.mark.parametrize("bags", [2, 3])
def test_measures_over_many_to_many_edges(engine: Engine, bags: int, counting: Counting) -> None:
    """On the grid within what rounding may have done to a residual."""
    join = met(np.random.default_rng(4), bags, size=100.0)
    with join.created(engine):
        model = train(engine, "m", join.query, training(loss="quantile", quantile=0.8, lam=1e-4, counting=counting))
        found = on_all(engine, model, lambda problem: residuals(problem, model))
        rows = rows_of(engine, join.query)
    z = rows.t - model.label_centre - rows.x @ beta_of(model, rows)
    blur = found.blur + 1e-6
    assert (found.blur == 0.0) == (model.counting == "exact")
    assert found.blur < 1e-2 * np.abs(z).max()
    assert found.rows == len(z)
    assert found.mae == pytest.approx(np.abs(z).mean(), abs=blur)
    assert found.rmse == pytest.approx(np.sqrt((z * z).mean()), abs=blur)
    assert found.pinball == pytest.approx(np.maximum(0.8 * z, -0.2 * z).mean(), abs=blur)
    assert (z <= -blur).mean() <= found.coverage <= (z <= blur).mean()
    assert sum(found.counts) == len(z)
    assert (found.edges[0], found.edges[-1]) == pytest.approx((z.min(), z.max()), abs=blur)


def test_rows_held_out_are_measured_apart(duckdb: Engine) -> None:
    join = numbers(np.random.default_rng(2), 400)
    with join.created(duckdb):
        model = train(duckdb, "m", join.query, training(loss="huber", holdout=0.25))
        parts = on_parts(duckdb, model, lambda problem: residuals(problem, model))
    assert parts["train"].rows + parts["holdout"].rows == 400
    assert parts["train"].rows == model.join_rows
    assert Model.from_json(model.as_json()).as_json() == model.as_json()


def test_a_loss_of_the_users_own(engine: Engine) -> None:
    """As pieces it is the same loss, for numbers and for classes."""
    join = numbers(np.random.default_rng(7), 400)
    with join.created(engine):
        own = train(engine, "m", join.query, training(loss="custom", pieces=((0.9, 0.0), (-0.1, 0.0)), lam=1e-3))
        named_one = train(engine, "m", join.query, training(loss="quantile", quantile=0.9, lam=1e-3))
        stored = Model.from_json(own.as_json())
        on_all(engine, stored, lambda problem: residuals(problem, stored))
        classes = join.query.replace("i.y", "i.y > 50 AS y").replace("s.y", "s.y > 50 AS y")
        margin = train(engine, "m", classes, training(loss="custom_margin", pieces=((-1.0, 1.0),), lam=1e-3))
        hinge = train(engine, "m", classes, training(lam=1e-3))
    assert abs(own.objective - named_one.objective) < 2e-3 * own.objective
    assert abs(margin.objective - hinge.objective) < 2e-3 * hinge.objective


def test_the_estimator_predicts_numbers(duckdb: Engine) -> None:
    build(duckdb, "CREATE TABLE f (y FLOAT8, x FLOAT8)")
    typed(duckdb, "INSERT INTO f SELECT 3.0 * i + 1, i FROM generate_series(1, 50) AS s (i)")
    found = RelationalSVR(lam=1e-7, loss="absolute").fit(duckdb, "SELECT y, x FROM f", "y")
    np.testing.assert_allclose(found.predict({"x": np.array([2.0, 10.0])}), [7.0, 31.0], rtol=0.01)
    measured = found.evaluate()
    assert isinstance(measured, Residuals)
    assert measured.mae < 0.1
    assert not hasattr(found, "classes_")
    with pytest.raises(ParameterError, match="the loss hinge is not for RelationalSVR"):
        RelationalSVR(1e-4, loss="hinge").fit(duckdb, "SELECT y, x FROM f", "y")
    with pytest.raises(ParameterError, match="the loss huber is not for RelationalSVC"):
        RelationalSVC(1e-4, loss="huber").fit(duckdb, "SELECT y, x FROM f", "y")


def test_estimators_that_are_named_after_their_loss(duckdb: Engine) -> None:
    """The ridge next to that of scikit-learn, which sums what we average."""
    build(duckdb, "CREATE TABLE f (y FLOAT8, x FLOAT8)")
    typed(duckdb, "INSERT INTO f SELECT 3.0 * i + 1 + i % 4, i % 13 FROM generate_series(1, 50) AS s (i)")
    query, x = "SELECT y, x FROM f", np.arange(1, 51) % 13
    y = 3.0 * np.arange(1, 51) + 1 + np.arange(1, 51) % 4
    found = RelationalRidge(lam=0.1, intercept="free", scale="none", tol=1e-9).fit(duckdb, query, "y")
    peer = Ridge(alpha=2 * 0.1 * 50).fit(x[:, None], y)
    np.testing.assert_allclose((found.coef_[0, 0], found.intercept_[0]), (peer.coef_[0], peer.intercept_), rtol=1e-5)
    measured = RelationalQuantileRegressor(quantile=0.9).fit(duckdb, query, "y").evaluate()
    assert isinstance(measured, Residuals)
    assert measured.quantile == 0.9
    assert RelationalHuberRegressor(delta=2.0).fit(duckdb, query, "y").model_.loss == "huber"
    late = "SELECT y > 70 AS late, x FROM f"
    assert RelationalLogisticRegression().fit(duckdb, late, "late").model_.loss == "logistic"


def test_a_loss_and_a_label_have_to_fit(engine: Engine) -> None:
    build(engine, "CREATE TABLE f (y FLOAT8, late BOOLEAN, x FLOAT8)")
    typed(engine, "INSERT INTO f SELECT 0.5 * i, i > 5, 1.0 * (i % 3) FROM generate_series(1, 9) AS s (i)")
    with pytest.raises(DataError, match="more than two values") as refused:
        train(engine, "m", "SELECT y, x FROM f", training())
    assert "loss='squared'" in str(refused.value.hint)
    with pytest.raises(OptionError, match="huber needs a label that is a number, and late is not"):
        train(engine, "m", "SELECT late, x FROM f", training("late", loss="huber"))
    with pytest.raises(OptionError, match="positive makes two classes"):
        train(engine, "m", "SELECT y, x FROM f", training(loss="huber", positive="1"))
    with pytest.raises(OptionError, match="numbers, which have no classes"):
        training(loss="huber", class_weight="balanced")
    typed(engine, "INSERT INTO f VALUES ('NaN', true, 1)")
    with pytest.raises(DataError, match="the label y is NaN or infinite"):
        train(engine, "m", "SELECT y, x FROM f", training(loss="huber"))


@every_loss
def test_a_constant_target_needs_no_proof(engine: Engine, loss: LossName) -> None:
    """The objective is 0 but for rounding, so no share of it can be proven."""
    build(engine, "CREATE TABLE f (y FLOAT8, x FLOAT8)")
    typed(engine, "INSERT INTO f SELECT 3.1, SIN(i) FROM generate_series(1, 90) AS s (i)")
    model = train(engine, "m", "SELECT y, x FROM f", sensible(loss=loss, pieces=PIECES))
    if loss != "custom":  # which costs 0 between its pieces, and so is 0 exactly
        assert model.objective_upper < 1e-9
    assert model.converged
    assert model.passes <= 4


def test_an_inspection_is_of_either(duckdb: Engine) -> None:
    build(duckdb, "CREATE TABLE f (y FLOAT8, x FLOAT8)")
    typed(duckdb, "INSERT INTO f SELECT 1.0 * i, i % 3 FROM generate_series(1, 9) AS s (i)")
    found = inspect(duckdb, "SELECT y, x FROM f", label="y")
    assert (found.join_rows, found.label) == (9, None)


def test_features_need_no_intercept(engine: Engine) -> None:
    build(engine, "CREATE TABLE f (y FLOAT8, x FLOAT8)")
    typed(engine, "INSERT INTO f SELECT 2.0 * i, i FROM generate_series(1, 20) AS s (i)")
    model = train(engine, "m", "SELECT y, x FROM f", training(loss="squared", intercept=False, lam=1e-9))
    assert (model.intercept, model.label_centre) == (0.0, 0.0)
    assert model.weights[0].weight == pytest.approx(2.0, rel=1e-6)


@pytest.mark.thin(5)
@every_loss
@pytest.mark.parametrize(("bags", "counting"), [(1, "exact"), (2, "exact"), (2, "grid"), (3, "exact")])
def test_psql_trains_for_numbers(
    installed: Engine, installed_dsn: str, loss: LossName, bags: int, counting: Counting
) -> None:
    """The driver's objective within tol, a proof that holds for the rows, and no more than twice its passes."""
    join = numbers(np.random.default_rng(7)) if bags == 1 else met(np.random.default_rng(7), bags)
    given = regression(loss, lam=1e-3, sample=600, counting=counting)
    with join.created(installed):
        compiled(installed, "numbers", join.query, given)
        model = trained(installed, installed_dsn, "numbers")
        driven, rows = train(installed, "m", join.query, given), rows_of(installed, join.query)
        value = rows.objective(beta_of(model, rows), loss, given.lam, model.label_centre)
        (row,) = call(installed_dsn, "objective", "numbers")
    close = 1e-9 * (1 + value)
    assert model.converged
    assert (model.bags, model.label_rows, model.join_rows) == (bags, {}, len(rows.t))
    assert model.objective - close <= value <= model.objective_upper + close
    assert model.lower_bound <= driven.objective_upper
    assert driven.lower_bound <= model.objective_upper
    assert model.passes <= 2 * driven.passes + 1 or loss == "squared"  # which the driver solves by its moments
    assert row["objective"] <= value + close
    assert value <= row["objective_upper"] + close


@pytest.mark.thin(4)
@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "quantile", "squared_epsilon_insensitive"])
def test_psql_proves_hostile_labels(installed: Engine, loss: LossName, case: str) -> None:
    y, _ = HOSTILE[case]
    rng = np.random.default_rng(4)
    build(installed, "CREATE TABLE hostile (y FLOAT8, a FLOAT8, b INT)")
    rows = {"y": y, "a": y % 5 + rng.normal(size=60), "b": rng.integers(0, 4, 60)}
    installed.copy_in(meant(installed, "hostile"), rows)
    given = sensible(loss=loss, quantile=0.001, tube=0.0, lam=1e-3, max_passes=40)
    compiled(installed, "hostile", "SELECT y, a, b FROM hostile", given)
    checked(installed, "SELECT y, a, b FROM hostile", given, lambda: trained_here(installed, "hostile"))


def trained_here(engine: Engine, name: str) -> Model:
    engine.fetch(Text(f"SELECT * FROM sqlsvm.train('{name}')"))
    return open_store(engine).load(name)


@pytest.mark.parametrize("counting", ["exact", "grid"])
def test_psql_measures_residuals(installed: Engine, installed_dsn: str, counting: Counting) -> None:
    """The same measures as those of the driver; on a coarse grid they are between their bounds."""
    join = met(np.random.default_rng(8), 3)
    given = training(loss="quantile", quantile=0.8, lam=1e-2, counting=counting)
    with join.created(installed):
        compiled(installed, "residuals", join.query, given)
        model = trained(installed, installed_dsn, "residuals")
        exact = replace(
            model,
            counting="exact",
            options={**model.options, "problem": replace(given, counting="exact").kept["problem"]},
        )
        seen = on_all(installed, exact, lambda problem: residuals(problem, exact))
        found = {r["measure"]: r for r in call(installed_dsn, "evaluate", "residuals", buckets=64)}
    wanted = {name: getattr(seen, name) for name in ("mae", "rmse", "r2", "pinball", "coverage")}
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        assert found[name]["lower"] - 1e-12 <= value <= found[name]["upper"] + 1e-12, name
        assert (found[name]["lower"] == found[name]["upper"]) == (counting == "exact"), name


def test_psql_counts_rows_of_classes_alone(installed: Engine, installed_dsn: str) -> None:
    build(installed, "CREATE TABLE counted (y FLOAT8, x FLOAT8)")
    typed(installed, "INSERT INTO counted SELECT 2.0 * i, i FROM generate_series(1, 20) AS s (i)")
    compiled(installed, "counted", "SELECT y, x FROM counted", training(loss="huber"))
    for function in ("row_count", "generalized_row_count", "pseudo_gradient"):
        said = complaint(installed_dsn, f"SELECT * FROM sqlsvm.{function}('counted', '{{}}')")
        assert 'of two classes, and the label "y" is a number' in said["MESSAGE"]
    typed(installed, "INSERT INTO counted VALUES ('NaN', 1)")
    assert "NaN, infinite or too large" in complaint(installed_dsn, "SELECT sqlsvm.train('counted')")["MESSAGE"]


def test_psql_predicts_a_number(installed: Engine, installed_dsn: str) -> None:
    build(installed, "CREATE TABLE predicted (y FLOAT8, x FLOAT8)")
    typed(installed, "INSERT INTO predicted SELECT 2.0 * i, i FROM generate_series(1, 20) AS s (i)")
    model = train(installed, "numbers", "SELECT y, x FROM predicted", training(loss="huber"))
    open_store(installed).save(model)
    (row,) = call(installed_dsn, "predict", "numbers", '{"x": 3}')
    assert float(str(row)) == pytest.approx(model.intercept + 3 * model.weights[0].weight)
