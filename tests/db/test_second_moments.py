"""A squared loss by second moments: they are those of the join, and the optimum is that of the materialised rows."""

from typing import Any

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.engine.base import Engine
from sqlsvm.run.join_oracle import JoinOracle, read_quadratic
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train, train_each
from sqlsvm.run.training import Training
from tests.db.test_numbers import best, beta_of, met, numbers, rows_of
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import asked, meant, typed

pytestmark = pytest.mark.twin


def squared(**options: Any) -> Training:
    return training(loss="squared", **options)


@pytest.mark.parametrize("bags", [1, 2, 3])
@pytest.mark.parametrize("lam", [1e-2, 1e-5])
def test_the_optimum_is_that_of_the_rows(engine: Engine, bags: int, lam: float) -> None:
    rng = np.random.default_rng(1)
    join = numbers(rng) if bags == 1 else met(rng, bags)
    with join.created(engine):
        model = train(engine, "m", join.query, squared(lam=lam))
        rows = rows_of(engine, join.query)
    value = rows.objective(beta_of(model, rows), "squared", lam, model.label_centre)
    optimum = best(rows, "squared", lam, model.label_centre)
    assert (model.converged, model.passes) == (True, 1)
    assert value == pytest.approx(optimum, rel=1e-9)
    assert model.lower_bound <= optimum <= model.objective_upper
    assert model.gap < 1e-7


@pytest.mark.twin(False)
def test_its_cuts_are_those_of_passes(engine: Engine) -> None:
    """With categories, missing numbers, weights and sums over several tables."""
    rng = np.random.default_rng(2)
    build(
        engine,
        """CREATE TABLE f (k INT, j INT, y FLOAT8, x FLOAT8, c TEXT, w INT);
        CREATE TABLE g (gk INT PRIMARY KEY, v FLOAT8, d TEXT); CREATE TABLE h (hj INT, z FLOAT8, b BOOLEAN)""",
    )
    f = {"k": rng.integers(0, 9, 300), "j": rng.integers(0, 5, 300), "y": rng.normal(3, 2, 300)}
    f |= {"x": rng.normal(size=300), "c": rng.choice(["a", "b", "c"], 300), "w": rng.integers(0, 3, 300)}
    engine.copy_in(meant(engine, "f"), f)
    engine.copy_in(meant(engine, "g"), {"gk": np.arange(9), "v": rng.normal(size=9), "d": rng.choice(["p", "q"], 9)})
    engine.copy_in(
        meant(engine, "h"), {"hj": rng.integers(0, 5, 20), "z": rng.normal(size=20), "b": rng.random(20) < 0.4}
    )
    typed(engine, "UPDATE f SET x = NULL WHERE j = 3 AND k > 4")
    text = """SELECT f.y, f.x, f.c, f.w, g.v, g.d, h.z, h.b, f.j - 2 * h.z AS s
        FROM f JOIN g ON g.gk = f.k JOIN h ON h.hj = f.j"""
    given = squared(weight="w", nulls="mean")
    with open_problem(engine, text, given) as problem:
        assert problem.plan.by_moments
        oracle, found = JoinOracle(problem), read_quadratic(problem)
        for beta in (np.zeros(oracle.dimension), rng.normal(size=oracle.dimension)):
            cut, wanted = found.pass_(beta, None), oracle.pass_(beta, None)
            np.testing.assert_allclose(cut.slope, wanted.slope, atol=1e-10)
            assert cut.offset == pytest.approx(wanted.offset, abs=1e-10)
            assert cut.value_low == pytest.approx(wanted.value_low, abs=1e-10)


def test_penalties_and_constraints_hold_at_the_optimum(engine: Engine) -> None:
    join = numbers(np.random.default_rng(3), 400)
    with join.created(engine):
        rows = rows_of(engine, join.query)
        lasso = train(engine, "m", join.query, squared(lam=1e-3, l1=0.1))
        free = train(engine, "m", join.query, squared(lam=10.0, intercept="free"))
        held = train(engine, "m", join.query, squared(lam=1e-3, constrain=("decreasing:qty",)))
    assert all(model.converged for model in (lasso, free, held))
    assert any(w.weight == 0.0 for w in lasso.weights)
    assert any(w.weight != 0.0 for w in lasso.weights)
    beta, t = beta_of(lasso, rows), rows.t - lasso.label_centre
    gradient = -(t - rows.x @ beta) @ rows.x / len(t) + 2e-3 * beta
    kept, l1 = beta[1:] != 0.0, 0.1 * rows.t.std()
    np.testing.assert_allclose(gradient[1:][kept], -l1 * np.sign(beta[1:][kept]), atol=1e-6)
    assert (np.abs(gradient[1:][~kept]) <= l1 + 1e-6).all()
    assert float((rows.t - free.label_centre - rows.x @ beta_of(free, rows)).mean()) == pytest.approx(0.0, abs=1e-6)
    assert next(w.weight for w in held.weights if w.feature == "qty") <= 1e-9


def test_a_path_reads_the_tables_once(duckdb: Engine) -> None:
    join = numbers(np.random.default_rng(3), 400)
    trainings = {f"m{n}": squared(lam=10.0**-n) for n in range(1, 6)}
    with join.created(duckdb):
        models = train_each(duckdb, join.query, trainings)
    assert all(model.converged for model in models)
    assert [model.passes for model in models] == [1] * 5
    assert models[0].seconds > 10 * models[1].seconds


def test_with_many_factors_there_are_passes(duckdb: Engine) -> None:
    rng = np.random.default_rng(5)
    build(duckdb, f"CREATE TABLE f (y FLOAT8, {', '.join(f'x{n} FLOAT8' for n in range(40))})")
    rows = {"y": rng.normal(size=200), **{f"x{n}": rng.normal(size=200) for n in range(40)}}
    duckdb.copy_in(meant(duckdb, "f"), rows)
    with open_problem(duckdb, "SELECT * FROM f", squared()) as problem:
        assert not problem.plan.by_moments
    assert train(duckdb, "m", "SELECT * FROM f", squared()).converged


def test_where_rounding_leaves_a_gap_passes_follow(duckdb: Engine) -> None:
    """The mean of a column is 10^4 times its deviation, and a tolerance is asked for that its squares cannot prove."""
    rng = np.random.default_rng(6)
    build(duckdb, "CREATE TABLE f (y FLOAT8, x FLOAT8)")
    x = rng.normal(size=5000)
    duckdb.copy_in(meant(duckdb, "f"), {"y": x + rng.normal(size=5000), "x": x + 1e4})
    model = train(duckdb, "m", "SELECT y, x FROM f", squared(lam=1e-3, tol=1e-5))
    rows = rows_of(duckdb, "SELECT y, x FROM f")
    value = rows.objective(beta_of(model, rows), "squared", 1e-3, model.label_centre)
    assert model.lower_bound <= best(rows, "squared", 1e-3, model.label_centre) * (1 + 1e-9)
    assert model.objective * (1 - 1e-9) <= value <= model.objective_upper * (1 + 1e-9)
    assert model.converged


def test_a_certificate_allows_for_the_rounding_of_products(duckdb: Engine) -> None:
    """Means of 10^2 to 10^4 deviations: the bounds are wider then, and still right."""
    rng = np.random.default_rng(7)
    for shift in (1e2, 1e3, 1e4):
        build(duckdb, "CREATE OR REPLACE TABLE f (y FLOAT8, x FLOAT8, z FLOAT8)")
        x, z = rng.normal(size=(2, 2000))
        duckdb.copy_in(meant(duckdb, "f"), {"y": x - z + rng.normal(size=2000), "x": x + shift, "z": z - shift})
        given = squared(lam=1e-4)
        with open_problem(duckdb, "SELECT y, x, z FROM f", given) as problem:
            found, design = read_quadratic(problem), problem.plan.design
            matrix_of_scaling = problem.scaling.matrix
        exact = asked(duckdb, parse_one("SELECT y, x, z FROM f"))
        raw = np.column_stack([np.ones(2000), exact["x"], exact["z"]]).astype(np.longdouble)
        raw -= np.array([c.origin for c in design.coordinates], dtype=np.longdouble)
        scaled = raw @ matrix_of_scaling.T.astype(np.longdouble)
        t = exact["y"].astype(np.longdouble) - design.target.centre
        matrix, sizes = (scaled.T @ scaled / 2000).astype(float), found.rounding.sizes
        assert (np.abs(found.matrix - matrix) <= found.rounding.share * np.outer(sizes, sizes)).all()
        linear = (scaled.T @ t / 2000).astype(float)
        origin = float(np.sqrt((t * t).mean()))
        assert (np.abs(found.linear - linear) <= found.rounding.share * sizes * origin).all()
