"""l1, an intercept without a penalty and constraints, over joins: next to a cone solver on the joined rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sqlsvm import RelationalSVC
from sqlsvm.ask.evaluate import fairness
from sqlsvm.ask.rows import on_all
from sqlsvm.engine.base import Engine, Values
from sqlsvm.errors import DataError, OptionError, QueryError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.options import LossName
from sqlsvm.psql.stored_program import stored_program
from sqlsvm.run.resume import Continuation
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.loss import named
from tests.evaluating import evaluate_model
from tests.ground import svm
from tests.ground.convex import optimum
from tests.ground.joins import JOINS, Join, chain, star
from tests.ground.opened import build, truth
from tests.ground.sql_program import call, compiled, trained
from tests.ground.trained import beta_of, training, wish_of
from tests.typed import typed

CLOSE = 1e-7


@dataclass(frozen=True)
class Asked:
    """What is asked of the penalty, and the same on the columns of the joined rows."""

    options: dict[str, Any]
    rows: Values
    shifts: Values

    @property
    def constraint(self) -> Constraint:
        return Constraint(tuple(map(str, range(len(self.shifts)))), self.rows, self.shifts)


def objective(rows: svm.Design, beta: Values, given: Training) -> float:
    psi = named(given.loss)
    z = (psi.origin or 0.0) - rows.y * (rows.x @ beta)
    constant = rows.columns.index(svm.CONSTANT)
    others = np.delete(beta, constant)
    free = given.intercept == "free"
    penalty = given.lam * float((others if free else beta) @ (others if free else beta))
    return float(rows.w @ psi.value(z) / rows.w.sum()) + penalty + given.l1 * float(np.abs(others).sum())


def assert_optimal(engine: Engine, model: Model, rows: svm.Design, given: Training, asked: Asked) -> None:
    beta, constant = beta_of(engine, model, rows), rows.columns.index(svm.CONSTANT)
    value = objective(rows, beta, given)
    slack = np.array([row.slack for row in model.constraints])
    peer_beta = optimum(
        rows.x,
        rows.y,
        np.full(len(rows.y), named(given.loss).origin or 0.0),
        rows.w / rows.w.sum(),
        given.loss,
        given.lam,
        l1=given.l1,
        constant=constant,
        free=given.intercept == "free",
        constraint=asked.constraint,
    )
    peer = objective(rows, asked.constraint.repaired(peer_beta), given)
    assert model.lower_bound <= peer * (1 + CLOSE)
    assert model.objective - 1e-9 <= value <= model.objective_upper + 1e-9
    assert model.converged
    assert value <= peer / (1 - 1e-3) * (1 + CLOSE)
    wanted = asked.rows @ beta + asked.shifts  # the truth has its columns in another order
    np.testing.assert_allclose(np.sort(slack), np.sort(wanted), atol=CLOSE, rtol=1e-6)
    assert slack.min(initial=0.0) >= -CLOSE


def constraints(rows: svm.Design, kind: str) -> Asked:
    """Each is tight for the labels that the joins have: the first number has a weight above 0 there."""
    places = [i for i, (feature, category) in enumerate(rows.columns) if feature and category is None]
    first, last = places[0], places[-1]
    names = [feature for feature, _ in rows.columns]
    unit = np.eye(len(rows.columns)) / rows.width
    raw = rows.x * rows.width + rows.centre
    match kind:
        case "nonnegative":
            return Asked({"constrain": ("nonnegative",)}, unit[[i for i, n in enumerate(names) if n]], zeros(rows))
        case "decreasing":
            return Asked({"constrain": (f"decreasing:{names[first]}",)}, -unit[[first]], np.zeros(1))
        case "box":
            texts = (f"box:{names[first]}:-1:0.125", f"box:{names[last]}::0.5")
            both = np.vstack([unit[first], -unit[first], -unit[last]])
            return Asked({"constrain": texts}, both, np.array([1.0, 0.125, 0.5]))
        case "fair":
            share = rows.w / rows.w.sum()
            s = raw[:, first]
            row = (share * (s - share @ s)) @ rows.x
            return Asked(
                {"constrain": (f"fair:{names[first]}:0.01",), "l1": 1e-3},
                np.vstack([-row, row]),
                np.array([0.01, 0.01]),
            )
    return Asked({"l1": 1e-2 if kind == "l1" else 0.0}, np.zeros((0, len(names))), np.zeros(0))


def zeros(rows: svm.Design) -> Values:
    return np.zeros(sum(1 for feature, _ in rows.columns if feature))


KINDS = ("none", "l1", "nonnegative", "decreasing", "box", "fair")


@pytest.mark.thin(15)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", JOINS)
def test_the_proof_beside_a_peer(engine: Engine, shape: str, kind: str) -> None:
    place = KINDS.index(kind) + list(JOINS).index(shape)
    join = JOINS[shape](np.random.default_rng(place))
    with join.created(engine):
        lam, intercept = (1e-2, 1e-3)[place % 2], ("free", True)[place // 2 % 2]
        plain = training(nulls="mean", categorical=join.categorical, lam=lam, intercept=intercept, sample=6000)
        rows = truth(engine, join.query, wish_of(plain))
        asked = constraints(rows, kind)
        given = training(**{**plain.options, "lam": lam, "sample": 6000, **asked.options})
        assert_optimal(engine, train(engine, "m", join.query, given), rows, given, asked)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_other_losses(engine: Engine, loss: LossName) -> None:
    join = star(np.random.default_rng(1))
    with join.created(engine):
        rows = truth(engine, join.query, wish_of(training()))
        asked = constraints(rows, "fair")
        given = training(loss=loss, lam=1e-3, intercept="free", **asked.options)
        assert_optimal(engine, train(engine, "m", join.query, given), rows, given, asked)


PEOPLE = """CREATE TABLE f (k INT, y INT, x FLOAT8, w FLOAT8);
    CREATE TABLE p (k INT PRIMARY KEY, age FLOAT8, gender VARCHAR(1), city VARCHAR(9))"""
QUERY = "SELECT f.y, f.x, p.age, p.city FROM f JOIN p ON p.k = f.k"
MAN = "p.gender = 'M'"


def people(rows: int = 4000) -> Join:
    """x goes with the gender, and so does the label."""
    rng = np.random.default_rng(7)
    k, gender, age = rng.integers(0, 90, rows), rng.integers(0, 2, 90), rng.normal(40, 10, 90)
    x = rng.normal(size=rows) + gender[k]
    y = np.where(x + 0.05 * (age[k] - 40) + gender[k] + rng.normal(size=rows) > 1, 1, -1)
    genders, cities = np.array(["F", "M"], dtype=object), np.array(["Bonn", "Oslo", "Riga"], dtype=object)
    held = {
        "f": {"k": k, "y": y, "x": x, "w": rng.integers(1, 4, rows) * 1.0},
        "p": {"k": np.arange(90), "age": age, "gender": genders[gender], "city": cities[np.arange(90) % 3]},
    }
    return Join(PEOPLE, held, QUERY)


def groups(join: Join) -> Values:
    f, p = join.rows["f"], join.rows["p"]
    return np.asarray(p["gender"][f["k"]] == "M", dtype=float)


def scores_of(join: Join, model: Model) -> Values:
    f, p = join.rows["f"], join.rows["p"]
    weights = {(w.feature, w.category): w.weight for w in model.weights}
    cities = np.array([weights["city", c] for c in p["city"]])
    of_people = model.intercept + weights["age", None] * p["age"] + cities
    return np.asarray(weights["x", None] * f["x"] + of_people[f["k"]], dtype=float)


@pytest.mark.thin(3)
@pytest.mark.parametrize("column", [MAN, "gender = 'M'"])
def test_a_model_is_fair_to_a_column_that_is_no_feature(engine: Engine, column: str) -> None:
    join = people()
    with join.created(engine):
        plain = train(engine, "m", QUERY, training(lam=1e-3))
        model = train(engine, "m", QUERY, training(lam=1e-3, constrain=(f"fair:{column}:0.02",)))
        found = on_all(engine, model, lambda problem: fairness(problem, model))
        whole = evaluate_model(engine, model)
    man, scores = groups(join), scores_of(join, model)
    covariance = float(np.cov(man, scores, bias=True)[0, 1])
    assert abs(np.cov(man, scores_of(join, plain), bias=True)[0, 1]) > 0.1
    assert covariance == pytest.approx(0.02, abs=1e-7)
    assert [row.slack for row in model.constraints] == pytest.approx([0.0, 0.04], abs=1e-7)
    (said,) = found
    assert (said.column, said.limit) == (column, 0.02)
    assert said.covariance == pytest.approx(covariance, abs=1e-9)
    assert said.rates == pytest.approx([float((scores[man == s] > 0).mean()) for s in (0, 1)])
    assert whole.positives == (join.rows["f"]["y"] > 0).sum()


def test_weights_of_rows_count_in_a_covariance(engine: Engine) -> None:
    join = people()
    with join.created(engine):
        query = QUERY.replace("f.x,", "f.x, f.w,")
        given = training(lam=1e-3, weight="w", class_weight="balanced", constrain=("fair:p.age:0.5",))
        model = train(engine, "m", query, given)
        (said,) = on_all(engine, model, lambda problem: fairness(problem, model))
    f, p = join.rows["f"], join.rows["p"]
    covariance = np.cov(p["age"][f["k"]], scores_of(join, model), aweights=f["w"], bias=True)[0, 1]
    assert covariance == pytest.approx(0.5, abs=1e-6)
    assert said.covariance == pytest.approx(covariance, abs=1e-9)
    assert said.rates is None


def test_fair_over_many_to_many_edges(engine: Engine) -> None:
    join = chain(np.random.default_rng(3))
    with join.created(engine):
        given = training(lam=1e-3, constrain=("fair:l.b > 0:0.001",), sample=5000)
        model = train(engine, "m", join.query, given)
        (said,) = on_all(engine, model, lambda problem: fairness(problem, model))
    assert model.bags == 3
    assert model.converged
    assert abs(said.covariance) <= 0.001 + 1e-7
    assert said.rates is not None
    assert all(0.0 < rate < 1.0 for rate in said.rates)


def test_held_out_rows_are_constrained_by_those_of_the_training(duckdb: Engine) -> None:
    join = people()
    join.create(duckdb)
    given = training(lam=1e-3, constrain=(f"fair:{MAN}:0.02",), holdout=0.3)
    model = train(duckdb, "m", QUERY, given)
    assert min(abs(row.slack) for row in model.constraints) == pytest.approx(0.0, abs=1e-9)


def test_custom_rows(engine: Engine, tmp_path: Path) -> None:
    join, file = people(), tmp_path / "rows.json"
    file.write_text(
        """[{"weights": {"x": 1, "age": -10}, "at_least": 0},
        {"weights": {"city": {"Riga": 1, "Bonn": -1}}, "at_least": 0.5},
        {"intercept": 1, "weights": {"age": 40}, "at_most": -1}]"""
    )
    with join.created(engine):
        model = train(engine, "m", QUERY, training(lam=1e-3, constrain=(f"custom:{file}",)))
        file.unlink()
        again = train(engine, "m", QUERY, training(lam=1e-3, constrain=model.options["problem"]["constrain"]))
    weights = {(w.feature, w.category): w.weight for w in model.weights}
    wanted = [
        weights["x", None] - 10 * weights["age", None],
        weights["city", "Riga"] - weights["city", "Bonn"] - 0.5,
        -1 - model.intercept - 40 * weights["age", None],
    ]
    assert [row.slack for row in model.constraints] == pytest.approx(wanted, abs=1e-9)
    assert min(wanted) >= -CLOSE
    assert model.constraints[1].row == "row 2 of custom is at least 0.5"
    assert again.weights == model.weights


def test_the_intercept_of_a_number_is_the_users(duckdb: Engine) -> None:
    """Also where the label is measured from its mean."""
    build(duckdb, "CREATE TABLE t (y FLOAT8, x FLOAT8)")
    typed(duckdb, "INSERT INTO t SELECT 1000 + 2 * sin(i), cos(i) FROM generate_series(1, 500) AS s (i)")
    rows = 'custom:[{"intercept": 1, "at_least": 1001}]'
    model = train(duckdb, "m", "SELECT y, x FROM t", training(loss="absolute", lam=1e-4, constrain=(rows,)))
    assert model.intercept == pytest.approx(1001.0)
    assert model.constraints[0].slack == pytest.approx(0.0, abs=1e-7)


def test_weights_of_categories_in_the_order_of_their_values(engine: Engine) -> None:
    build(engine, "CREATE TABLE t (y INT, size INT, x FLOAT8)")
    typed(
        engine,
        "INSERT INTO t SELECT CASE WHEN sin(i) + (i % 4) / 4.0 > 0.6 THEN 1 ELSE -1 END, i % 4, cos(i) "
        "FROM generate_series(1, 900) AS s (i)",
    )
    falling = training(lam=1e-3, categorical=("size",), constrain=("decreasing:size",))
    weights = {w.category: w.weight for w in train(engine, "m", "SELECT y, size, x FROM t", falling).weights}
    assert [weights[a] - weights[b] for a, b in ((0, 1), (1, 2), (2, 3))] == pytest.approx([0.0] * 3, abs=1e-9)
    rising = training(lam=1e-3, categorical=("size",), constrain=("increasing:size",))
    weights = {w.category: w.weight for w in train(engine, "m", "SELECT y, size, x FROM t", rising).weights}
    assert weights[0] <= weights[1] <= weights[2] <= weights[3]
    assert weights[0] < weights[3]


def test_a_free_intercept_of_labels_that_are_far_off(engine: Engine) -> None:
    """A hundred rows of one class for one of the other; and a number that is far from 0 without centring."""
    build(engine, "CREATE TABLE t (y INT, t FLOAT8, x FLOAT8)")
    typed(
        engine,
        "INSERT INTO t SELECT CASE WHEN i % 101 = 0 THEN 1 ELSE -1 END, 1e6 + sin(i), cos(i) "
        "FROM generate_series(1, 5050) AS s (i)",
    )
    for loss in ("hinge", "squared_hinge", "logistic"):
        model = train(engine, "m", "SELECT y, x FROM t", training(loss=loss, lam=1.0, intercept="free"))
        assert model.converged
        assert model.intercept < (-0.9 if loss != "logistic" else -4)
    number = training(label="t", loss="quantile", quantile=0.999, lam=1.0, intercept="free")
    model = train(engine, "m", "SELECT t, x FROM t", number)
    assert model.converged
    assert model.intercept > 1e6 + 0.99


def test_weights_that_are_left_out(duckdb: Engine) -> None:
    join = star(np.random.default_rng(0))
    join.create(duckdb)
    model = train(duckdb, "m", join.query, training(l1=0.05))
    zeros_ = [w.feature for w in model.weights if w.weight == 0.0]
    assert "price" in zeros_
    assert "qty" not in zeros_
    assert all(w.scaled_weight == 0.0 for w in model.weights if w.feature in zeros_)


def test_no_weights_satisfy_all(engine: Engine) -> None:
    join = people(200)
    with join.created(engine):
        wanted = ("nonnegative", "box:x::-1", "increasing:age")
        with pytest.raises(OptionError, match=r"no weights satisfy all constraints: x >= 0 and x <= -1"):
            train(engine, "m", QUERY, training(constrain=wanted))


REFUSED = [
    ("increasing:aeg", "constrain: the model has no weight for aeg", "did you mean age?"),
    ("fair:p.gender:0.1", "audited column p.gender is of type", "compare it with a value: fair:p.gender = 'VALUE'"),
    ("fair:p.nothing:0.1", "nothing", None),
    ("fair:f.x + p.age:0.1", "it uses several relations", "write an expression over one relation"),
    ("fair:1) FROM f; --:0.1", "cannot be audited", "name an output of the query"),
    ("fair:(SELECT 1):0.1", "", None),
    ("custom:[1]", "row 1 of custom has neither at_least nor at_most", "write"),
    ('custom:[{"weights": {"aeg": 1}, "at_least": 0}]', "row 1 of custom has a weight for aeg", "did you mean age?"),
    ('custom:[{"weights": {"age": 1}, "at_least": "a"}]', "at_least of row 1 of custom is not a number", None),
]


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_constraints_that_are_refused(duckdb: Engine, text: str, message: str, hint: str | None) -> None:
    join = people(100)
    join.create(duckdb)
    with pytest.raises((OptionError, QueryError)) as refused:
        train(duckdb, "m", QUERY, training(constrain=(text,)))
    assert message in str(refused.value)
    assert hint is None or hint in str(refused.value.hint)


def test_a_column_with_nulls_has_no_covariance(duckdb: Engine) -> None:
    join = people(300)
    join.create(duckdb)
    typed(duckdb, "UPDATE p SET gender = NULL WHERE k < 5")
    fair = (f"fair:{MAN}:0.1",)
    with pytest.raises(DataError, match=r"p.gender = 'M' is NULL in \d+ rows of the join"):
        train(duckdb, "m", QUERY, training(constrain=fair))
    dropped = train(duckdb, "m", QUERY, training(constrain=fair, nulls="drop"))
    assert dropped.join_rows == (join.rows["f"]["k"] >= 5).sum()


def test_a_training_goes_on_under_other_constraints(duckdb: Engine) -> None:
    """The cuts do not know them."""
    join = people()
    join.create(duckdb)
    begun = Continuation(None, lambda said: None)
    train(duckdb, "m", QUERY, training(lam=1e-3, max_passes=2, tol=1e-9), continuation=begun)
    assert begun.last is not None
    said: list[str] = []
    given = training(lam=1e-3, l1=1e-3, constrain=("nonnegative",))
    model = train(duckdb, "m", QUERY, given, continuation=Continuation(begun.last, said.append))
    assert model.converged
    assert min(row.slack for row in model.constraints) >= 0.0
    assert model.passes > 2


def test_what_does_not_go_together() -> None:
    for options in ({"l1": 0.1}, {"intercept": "free"}, {"constrain": ("nonnegative",)}):
        with pytest.raises(OptionError, match="descent has neither"):
            training(solver="descent", scale="maxabs", **options)


def test_psql_refuses_what_no_weights_satisfy(postgres: Engine) -> None:
    people(100).create(postgres)
    both = ("increasing:x", "box:x::-1")
    with pytest.raises(OptionError, match="no weights satisfy all constraints: x >= 0 and x <= -1"):
        stored_program(postgres, QUERY, training(constrain=both))


@pytest.mark.thin(20)
@pytest.mark.parametrize("kind", ["l1", "nonnegative", "decreasing", "box", "free"])
@pytest.mark.parametrize("shape", ["star", "chain", "heap", "categories"])
def test_psql_proves_it_beside_a_peer(installed: Engine, installed_dsn: str, shape: str, kind: str) -> None:
    """In at most twice the passes of the driver with a sample. Without the weight of its first number, the residuals of
    `categories` come in heaps, and no fixed curvature knows how they move."""
    most = 4 if (shape, kind) == ("categories", "decreasing") else 2
    join = JOINS[shape](np.random.default_rng(3))
    with join.created(installed):
        given = training(nulls="mean", categorical=join.categorical, lam=1e-3)
        rows = truth(installed, join.query, wish_of(given))
        asked = constraints(rows, "none" if kind == "free" else kind)
        options = {**asked.options, **({"intercept": "free"} if kind == "free" else {})}
        given = training(nulls="mean", categorical=join.categorical, lam=1e-3, **options)
        compiled(installed, "penalties", join.query, given)
        model = trained(installed, installed_dsn, "penalties")
        few = replace(given, sample=int(model.join_rows) - 1)  # not read whole, which psql does not do
        driven = train(installed, "m", join.query, few)
        assert_optimal(installed, model, rows, given, asked)
        (row,) = call(installed_dsn, "objective", "penalties")
    assert model.passes <= most * driven.passes
    assert names_of(model.constraints) == names_of(driven.constraints)
    assert row["objective"] == pytest.approx(model.objective, rel=1e-9)


SEVERAL = (
    {"constrain": ("increasing:city",)},
    {"constrain": ("decreasing:city", "nonnegative"), "loss": "squared_hinge"},
    {"constrain": ("box:city:-0.01:0.02",), "l1": 3e-3, "loss": "logistic"},
    {"constrain": ("box:city:-0.2:0.02", "increasing:Age"), "class_weight": "balanced", "nulls": "mean"},
    {"constrain": ("increasing:age",), "top": ("city:1",), "loss": "squared_hinge"},
)


@pytest.mark.thin(2)
@pytest.mark.parametrize("options", SEVERAL)
def test_psql_keeps_rows_over_several_weights(installed: Engine, installed_dsn: str, options: dict[str, Any]) -> None:
    """The bounds of psql and of the driver are of one optimum, and the rows of a model are those of the driver."""
    given = training(lam=1e-3, sample=800, **options)
    with people(1000).created(installed):
        compiled(installed, "several", QUERY, given)
        model, driven = trained(installed, installed_dsn, "several"), train(installed, "m", QUERY, given)
    assert model.converged
    assert model.lower_bound <= driven.objective_upper * (1 + CLOSE)
    assert driven.lower_bound <= model.objective_upper * (1 + CLOSE)
    assert names_of(model.constraints) == names_of(driven.constraints)
    assert min(row.slack for row in model.constraints) >= -CLOSE
    assert model.passes <= 2 * driven.passes


@pytest.mark.parametrize(
    "options",
    [
        {"constrain": (f"fair:{MAN}:0.02",)},
        {"constrain": ("custom:[]",)},
        {"constrain": ("nonnegative",), "intercept": "free"},
    ],
)
def test_psql_refuses_constraints_that_the_driver_trains(postgres: Engine, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"a stored program takes no .*constraint") as refused:
        stored_program(postgres, QUERY, training(**options))
    assert refused.value.hint == "train with sqlsvm train, and sqlsvm.predict knows its model"


def test_the_estimator(duckdb: Engine) -> None:
    join = people()
    join.create(duckdb)
    found = RelationalSVC(1e-3, l1=0.01, intercept="free", constrain=["nonnegative", f"fair:{MAN}:0.02"])
    found.fit(duckdb, QUERY, "y")
    assert (found.coef_ >= 0.0).all()
    assert len(found.model_.constraints) == found.coef_.size + 2
    measured = found.evaluate()
    assert isinstance(measured, Evaluation)
    (said,) = measured.fairness
    assert said.covariance <= 0.02 + CLOSE


def names_of(rows: Sequence[Any]) -> list[str]:
    return [row.row for row in rows]


def test_the_rows_are_named(duckdb: Engine) -> None:
    join = people(400)
    join.create(duckdb)
    given = training(constrain=("decreasing:age", "box:city:-1:2", "fair:x:0.5"))
    assert names_of(train(duckdb, "m", QUERY, given).constraints) == [
        "age <= 0",
        *(f"city = {city} {end}" for city in ("Bonn", "Oslo", "Riga") for end in (">= -1", "<= 2")),
        "covariance of x and the score <= 0.5",
        "covariance of x and the score >= -0.5",
    ]
