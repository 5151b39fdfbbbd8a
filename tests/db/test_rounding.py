"""F, added up exactly over the rows of joins with weights such as 0.1, is between the two ends that are proven."""

from fractions import Fraction
from math import fsum

import numpy as np
import pytest

from sqlsvm.engine.base import Engine, Rows, Text, Values
from sqlsvm.run.opening import open_problem
from sqlsvm.run.problems import Problems
from sqlsvm.run.training import Training
from tests.ground.joins import Join
from tests.ground.opened import build
from tests.ground.sql_program import compiled, trained
from tests.ground.trained import training
from tests.sized import sized
from tests.typed import asked

LAMBDA = 1e-3
TABLES: dict[str, tuple[str, ...]] = {"facts": (), "star": ("dk",), "two bags": ("gk",), "three bags": ("gk", "hj")}
"""What the facts f meet: d by a foreign key, g and h many-to-many."""
SCALES = ("standard", "maxabs", "none")
NIGHTLY = [pytest.mark.slow, pytest.mark.nightly]
NUMBERS = [range(3), pytest.param(range(3, 13), marks=pytest.mark.slow), pytest.param(range(13, 25), marks=NIGHTLY)]
"""Joins of a shape on each engine, 104 in all, and 200 by night."""

FEW = Engine.sizes.in_bucket
"""As users have it. Every other join has each row in two buckets that may be."""

EXACT = np.vectorize(Fraction, otypes=[object])


def join(rng: np.random.Generator, shape: str, rows: int = 60) -> Join:
    signal = rng.normal(size=rows)
    f = {
        "k": rng.integers(0, 8, rows),
        "j": rng.integers(0, 8, rows),
        "y": np.where(signal + rng.normal(size=rows) > 0, 1, -1),
        "w": rng.uniform(0.1, 3, rows),
        "a": signal + rng.choice([0.0, 30.0]),
        "b": rng.normal(size=rows) * 10.0 ** rng.integers(-3, 4),
    }
    script, held, outputs, joins = (
        "CREATE TABLE f (k INT, j INT, y INT, w FLOAT8, a FLOAT8, b FLOAT8);",
        {"f": f},
        "",
        "",
    )
    for named in TABLES[shape]:
        table, key = named[0], named[1]
        keys = np.arange(8) if table == "d" else rng.integers(0, 8, 24)
        held[table] = {key: keys, f"x{table}": rng.normal(size=len(keys))}
        script += f"CREATE TABLE {table} ({key} INT {'PRIMARY KEY' if table == 'd' else ''}, x{table} FLOAT8);"
        outputs += f", {table}.x{table}"
        joins += f" JOIN {table} ON {table}.{key} = f.{key}"
    return Join(script, held, f"SELECT f.y, f.w, f.a, f.b{outputs} FROM f{joins}")


def objective(rows: Rows, weights: dict[str, float], class_weights: tuple[float, float], beta: Values) -> Fraction:
    """F in rational numbers, of weights on the columns of the join and of beta, which is penalised."""
    y = rows["y"].astype(int)
    counts = EXACT(rows["w"].astype(float)) * EXACT(np.where(y < 0, *class_weights))
    score = sum(
        EXACT(rows[name].astype(float) if name else np.ones(len(y))) * Fraction(w) for name, w in weights.items()
    )
    loss = np.maximum(1 - y * score, 0)
    penalty = Fraction(LAMBDA) * sum(Fraction(b) ** 2 for b in beta.tolist())
    return Fraction(counts @ loss) / Fraction(counts.sum()) + penalty


def assert_between(engine: Engine, query: str, given: Training) -> None:
    rows = asked(engine, query)
    with open_problem(engine, query, given) as problem:
        solution = Problems(problem).solve(given)[0]
    names = [c.feature for c in problem.plan.design.coordinates]
    weights = dict(zip(names, problem.scaling.to_raw(solution.beta).tolist(), strict=True))
    compute = objective if len(rows["y"]) < 10_000 else objective_of_many
    negative, positive = problem.plan.design.target.class_weights
    found = compute(rows, weights, (negative, positive), solution.beta)
    proof = solution.certificate
    assert proof.objective <= found <= proof.objective_upper
    assert proof.lower_bound <= found
    if problem.plan.method == "exact":
        assert proof.objective_upper - proof.objective < (1e-9 if len(rows["y"]) < 10_000 else 2e-8)


@pytest.mark.thin(3)
@pytest.mark.parametrize("shape", TABLES)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_f_is_between_the_two_ends(
    shared_engine: Engine, monkeypatch: pytest.MonkeyPatch, shape: str, numbers: range
) -> None:
    for number in numbers:
        rng = np.random.default_rng(number)
        sized(monkeypatch, in_bucket=np.inf if number % 2 else FEW)
        given = training(
            lam=LAMBDA,
            weight="w",
            scale=str(rng.choice(SCALES)),
            class_weight="balanced" if rng.random() < 0.5 else "none",
            counting="grid" if shape == "three bags" and rng.random() < 0.5 else "exact",
            sample=100,
            max_passes=int(rng.integers(1, 4)),
        )
        made = join(rng, shape)
        with made.created(shared_engine):
            assert_between(shared_engine, made.query, given)


@pytest.mark.thin(3)
@pytest.mark.parametrize("shape", TABLES)
@pytest.mark.parametrize("class_weight", ["none", (0.3, 1.7)])
def test_f_is_between_the_two_ends_in_psql(
    installed: Engine, installed_dsn: str, shape: str, class_weight: str | tuple[float, float]
) -> None:
    """Without centring the intercept is penalised as it is."""
    made = join(np.random.default_rng(5), shape)
    given = training(lam=LAMBDA, weight="w", scale="maxabs", class_weight=class_weight, max_passes=3)
    with made.created(installed):
        rows = asked(installed, made.query)
        compiled(installed, "rounding", made.query, given)
        model = trained(installed, installed_dsn, "rounding")
    weights = {"": model.intercept} | {w.feature: w.weight for w in model.weights}
    beta = np.array([model.intercept, *(w.scaled_weight for w in model.weights)])
    found = objective(rows, weights, (1.0, 1.0) if class_weight == "none" else (0.3, 1.7), beta)
    assert model.objective < found < model.objective_upper < model.objective + 1e-9
    assert model.lower_bound < found


MANY = """
    CREATE TABLE f AS
        SELECT g % 500 AS k, 0.1 + (g % 7) / 3.0 AS w, 10 + SIN(g) AS a, COS(g * 1.1) AS b,
               COS(g) + SIN(g * 3) > 0.4 AS y
        FROM GENERATE_SERIES(1, {rows}) AS r(g);
    CREATE TABLE d AS SELECT g AS k, COS(2 * g) AS x FROM GENERATE_SERIES(0, 499) AS r(g);
    CREATE TABLE g AS SELECT g % 500 AS k, COS(2 * g) AS x FROM GENERATE_SERIES(1, 2500) AS r(g)
"""


def objective_of_many(rows: Rows, weights: dict[str, float], class_weights: tuple[float, float], beta: Values) -> float:
    """The same without sums of doubles, in hundredths of the time."""
    y = np.where(rows["y"].astype(bool), 1.0, -1.0).astype(np.longdouble)
    counts = rows["w"].astype(np.longdouble) * np.where(y < 0, *class_weights)
    score = sum(rows[name].astype(np.longdouble) * w if name else np.longdouble(w) for name, w in weights.items())
    loss = fsum((counts * np.maximum(1 - y * score, 0)).tolist())
    return loss / fsum(counts.tolist()) + LAMBDA * fsum((beta.astype(np.longdouble) ** 2).tolist())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("met", "class_weight", "rows"),
    [("d", "balanced", 1_000_000), ("d", "none", 100_000), ("g", "balanced", 20_000), ("g", "none", 20_000)],
)
def test_many_rows(engine: Engine, met: str, class_weight: str, rows: int) -> None:
    """Up to a million in DuckDB, with two threads. PostgreSQL takes ten times as long."""
    if engine.dialect == "duckdb":
        engine.execute(Text("SET threads = 2"))
    build(engine, MANY.format(rows=rows if engine.dialect == "duckdb" else min(rows, 300_000)))
    query = f"SELECT f.y, f.w, f.a, f.b, {met}.x FROM f JOIN {met} ON {met}.k = f.k"
    asked_for = training(lam=LAMBDA, weight="w", class_weight=class_weight, max_passes=2)
    assert_between(engine, query, asked_for)
