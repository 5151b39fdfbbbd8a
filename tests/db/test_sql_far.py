"""psql trains on columns that are far from 0, such as seconds since 1970, as `train` does."""

from typing import Any

import numpy as np
import pytest

from sqlsvm.engine.base import Engine, Rows, Text
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.rules import named
from sqlsvm.run.train import train
from sqlsvm.store import open_store
from tests.db.test_centring import LOSSY, one_column
from tests.ground.joins import Join
from tests.ground.trained import sensible

CASES: dict[str, dict[str, Any]] = {
    "classes": {},
    "a free intercept": {"intercept": "free"},
    "a label of 1e9": {"loss": "huber", "label": "t"},
}


def _join() -> Join:
    rng, n = np.random.default_rng(0), 60
    y = rng.normal(size=n)
    u = np.where(np.arange(n) % 4 == 0, -1.0, 3e8 + rng.normal(size=n) + y)  # -1 becomes NULL
    f: Rows = {"k": np.arange(n) % 5, "y": (y > 0).astype(int), "t": 1.7e9 + rng.normal(size=n) * 1e3 + 500 * y, "u": u}
    b: Rows = {"k": np.arange(5), "z": 5e6 + rng.normal(size=5), "c": np.full(5, 1.7e9)}
    script = "CREATE TABLE f (k INT, y INT, t FLOAT8, u FLOAT8); CREATE TABLE b (k INT, z FLOAT8, c FLOAT8)"
    text = "SELECT f.y, f.t, NULLIF(f.u, -1) AS u, b.z, b.c, f.t + b.z AS s FROM f JOIN b ON b.k = f.k"
    return Join(script, {"f": f, "b": b}, text)


@pytest.mark.parametrize("case", CASES)
def test_the_optimum_is_that_of_train(installed: Engine, case: str) -> None:
    join = _join()
    options = {"label": "y", "loss": "hinge", "nulls": "mean", "lam": 0.01, **CASES[case]}
    training = sensible(**named(options))
    text = join.query.replace(", f.t + b.z AS s", "") if options["label"] == "t" else join.query
    with join.created(installed):
        save_program(installed, "far", stored_program(installed, text, training))
        installed.fetch(Text("SELECT version FROM sqlsvm.train($1)"), ["far"])
        found, peer = open_store(installed).load("far"), train(installed, "peer", text, training)
        again = installed.fetch(Text("SELECT * FROM sqlsvm.objective($1)"), ["far"])
    assert found.converged
    assert found.passes < 40
    assert found.lower_bound <= peer.objective_upper
    assert peer.lower_bound <= found.objective_upper
    assert float(again["objective"][0]) == pytest.approx(found.objective, rel=1e-6)
    for mine, other in zip(found.weights, peer.weights, strict=True):
        if mine.missing is not None:
            assert mine.missing == pytest.approx(other.missing, rel=1e-12)


def test_counts_are_by_the_values_of_the_table(installed: Engine) -> None:
    join = _join()
    text = join.query.replace(", f.t + b.z AS s", "")
    with join.created(installed):
        save_program(
            installed,
            "far",
            stored_program(installed, text, sensible(**named({"label": "y", "lam": 0.01, "nulls": "mean"}))),
        )
        beta = '{"intercept": -1.7e9, "weights": {"t": 1}}'
        counts = installed.fetch(Text("SELECT * FROM sqlsvm.row_count($1, $2, 1)"), ["far", beta])
        slopes = installed.fetch(Text("SELECT * FROM sqlsvm.pseudo_gradient($1, $2, 1e-15, 0.5)"), ["far", beta])
    y, t = join.rows["f"]["y"] * 2.0 - 1.0, join.rows["f"]["t"]
    low = y * (t - 1.7e9) < 1.0
    counted = {
        float(v): c for n, v, c in zip(counts["feature"], counts["value"], counts["count"], strict=True) if n == "t"
    }
    assert counted == dict.fromkeys(t[low].tolist(), 1.0)
    expected = -(y * t)[low].sum() / len(t) + 1.0
    assert dict(zip(slopes["feature"], slopes["gradient"], strict=True))["t"] == pytest.approx(expected, rel=1e-9)


def test_an_objective_of_0_says_so(installed: Engine) -> None:
    join = _join()
    with join.created(installed):
        program = stored_program(
            installed, "SELECT 0 * f.t AS y, f.t FROM f", sensible(label="y", loss="squared", lam=0.01)
        )
        save_program(installed, "far", program)
        installed.fetch(Text("SELECT version FROM sqlsvm.train($1)"), ["far"])
        found = open_store(installed).load("far")
    assert (found.converged, found.objective_upper) == (True, 0.0)
    assert found.notes == ("the objective is 0: no weights can be better",)


def test_a_free_intercept_of_a_small_label(installed: Engine) -> None:
    """The interval that the intercept must be in is measured in labels; it was 10^9 times as long."""
    join = _join()
    text = "SELECT 1e-12 * (f.t - 1.7e9) AS y, NULLIF(f.u, -1) AS u, b.z FROM f JOIN b ON b.k = f.k"
    options = {"label": "y", "loss": "absolute", "nulls": "mean", "lam": 0.01, "intercept": "free"}
    with join.created(installed):
        save_program(installed, "far", stored_program(installed, text, sensible(**named(options))))
        installed.fetch(Text("SELECT version FROM sqlsvm.train($1)"), ["far"])
        found, peer = open_store(installed).load("far"), train(installed, "peer", text, sensible(**named(options)))
    assert found.converged
    assert found.passes < 20
    assert found.lower_bound <= peer.objective_upper
    assert peer.lower_bound <= found.objective_upper


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "deviation"), [LOSSY[0], LOSSY[2]])
def test_the_bounds_are_those_of_the_stored_scores(installed: Engine, mean: float, deviation: float) -> None:
    """Of columns and of sums; one that differs in its last bit is constant."""
    made, terms = one_column(mean, deviation), "SELECT f.y, f.z, f.x + h.v AS s FROM f JOIN h ON h.k = f.g"
    h: Rows = {"k": np.arange(2), "v": mean / 3 + deviation * np.arange(2)}
    made = Join(made.script + "; CREATE TABLE h (k INT, v FLOAT8)", {**made.rows, "h": h}, terms)
    with made.created(installed):
        for query in ("SELECT y, x, z FROM f", terms, "SELECT y, z, c FROM f"):
            model = _trained(installed, query)
            rows = installed.fetch(predict(installed, model, query))
            sign = np.where(rows["y"] > 0, 1.0, -1.0)
            squares = sum(w.scaled_weight**2 for w in model.weights) + (model.scaled_intercept or 0.0) ** 2
            value = np.maximum(0.0, 1.0 - sign * rows["score"]).mean() + model.lam * squares
            assert model.objective * (1 - 1e-12) <= value <= model.objective_upper * (1 + 1e-12)
            assert model.lower_bound <= value
            if query is terms and not model.converged:  # F may not be 0 where a bound above 0 is proven
                assert "more passes prove no more" in model.notes[0]
            else:
                assert (model.converged, model.gap <= 1e-3) == (True, True)
    assert [w.weight for w in model.weights if w.feature == "c"] == [0.0]


def _trained(engine: Engine, query: str) -> Model:
    save_program(engine, "far", stored_program(engine, query, sensible(label="y", lam=1e-4)))
    engine.fetch(Text("SELECT version FROM sqlsvm.train($1)"), ["far"])
    return open_store(engine).load("far")
