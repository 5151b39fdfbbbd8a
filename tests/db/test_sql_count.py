"""The building blocks in SQL, compared with the driver's numbers for the same weights."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sqlsvm.compile.oracle import NEAR
from sqlsvm.engine.base import Engine, StatementError, Text, Values
from sqlsvm.lab.ask.counting import generalised, row_counts
from sqlsvm.lab.run.pseudo_oracle import PseudoJoinOracle
from sqlsvm.measures import TWO, of_scores
from sqlsvm.model.evaluation import CELLS, Evaluation
from sqlsvm.options import Counting
from sqlsvm.plan.constraints import read_beta
from sqlsvm.plan.scaling import Scaling, scaling
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import labelled
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import workspace
from tests.evaluating import evaluate_beta
from tests.ground.joins import JOINS, Join
from tests.ground.sql_program import call, compiled
from tests.ground.trained import training

MORE = (("chain", "exact"), ("chain", "grid"), ("left join", "auto"), ("categories", "exact"), ("cyclic", "auto"))
CASES = [
    ("star", "auto"),
    ("categories", "grid"),
    *(pytest.param(shape, counting, marks=pytest.mark.slow) for shape, counting in MORE),
]
BETAS: dict[str, dict[str, Any]] = {
    "star": {"intercept": 0.5, "weights": {"qty": 0.8, "size": 0.02, "open": -0.25}},
    "chain": {"intercept": -0.125, "weights": {"a": 1.5, "u": 0.75, "v": -0.5, "c": 0.3}},
    "left join": {"weights": {"x": 0.7, "z": 0.5, "rate": -0.3}},
    "categories": {"weights": {"city": {"n° 3": 1.5, "n° 1": -0.5}, "month": {"2": 0.25}, "x": 0.9, "price": 0.1}},
    "cyclic": {"intercept": 0.1, "weights": {"x": 1.1, "z": 2, "w": 0.5}},
}


@pytest.fixture
def dsn(installed_dsn: str) -> str:
    return installed_dsn


@contextmanager
def stored(engine: Engine, shape: str, counting: Counting) -> Iterator[tuple[Join, Training]]:
    """The tables of a shape and its program, named as the shape is."""
    join = JOINS[shape](np.random.default_rng(3))
    asked = training(nulls="mean", categorical=join.categorical, counting=counting, scale="maxabs")
    with join.created(engine):
        compiled(engine, shape, join.query, asked)
        yield join, asked


@contextmanager
def opened(engine: Engine, join: Join, asked: Training) -> Iterator[tuple[Data, Data]]:
    """The driver's problem, and the same on the original columns."""
    query = labelled(engine, join.query, asked)
    with workspace(engine) as work:
        problem = prepared(work, query, asked)
        unscaled = scaling(problem.plan.design, problem.moments, "none")
        yield problem, replace(problem, scaling=unscaled)


def scaled(problem: Data, raw: Values) -> Values:
    """The beta of the scaled features whose theta this is. maxabs only stretches."""
    of: Scaling = problem.scaling
    numbers = len(of.kept)
    return np.concatenate([raw[of.kept] / of.matrix[np.arange(numbers), of.kept], raw[of.matrix.shape[1] :]])


@pytest.mark.parametrize(("shape", "counting"), CASES)
def test_as_the_driver(installed: Engine, dsn: str, shape: str, counting: Counting) -> None:
    given = BETAS[shape]
    with stored(installed, shape, counting) as (join, asked):
        answers = {name: call(dsn, name, shape, given) for name in FUNCTIONS}
        with opened(installed, join, asked) as (problem, raw):
            beta = read_beta(problem.scaling, given)
            assert_objective(answers["objective"], problem, scaled(problem, raw.scaling.to_raw(beta)), asked.lam)
            assert_row_counts(answers["row_count"], raw, beta)
            assert_thresholds(answers["generalized_row_count"], raw, beta)
            assert_pseudo_gradient(answers["pseudo_gradient"], raw, beta, asked.lam)
            assert_evaluation(answers["evaluate"], evaluate_beta(raw, beta))


FUNCTIONS = ("objective", "row_count", "generalized_row_count", "pseudo_gradient", "evaluate")
Answer = list[dict[str, Any]]


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-12, abs=1e-13)


def assert_objective(answer: Answer, problem: Data, beta: Values, lam: float) -> None:
    oracle = JoinOracle(problem)
    cut = oracle.pass_(beta, 64)
    penalty = lam * float(beta @ beta)
    rounded = oracle.rounding.of_value(1.0 + oracle.rounding.reach(beta), cut.error + penalty)
    (row,) = answer
    # The driver also allows for a join that is read whole, which psql never does.
    assert row["objective"] == pytest.approx(cut.value_low + penalty - rounded, rel=1e-9)
    assert row["objective_upper"] == pytest.approx(cut.value_low + cut.error + penalty + rounded, rel=1e-9)


def spelled(value: object) -> str | None:
    return None if value is None else str(value)


def as_value(value: str | None) -> object:
    try:
        return value if value is None else float(value)
    except ValueError:
        return value


def assert_row_counts(answer: Answer, raw: Data, beta: Values) -> None:
    found = {(r["feature"], as_value(r["value"]), r["label"]): r["count"] for r in answer}
    wanted = {(c.feature, as_value(spelled(c.value)), c.label): c.count for c in row_counts(raw, beta)}
    assert found == {k: close(v) for k, v in wanted.items()}
    assert len(answer) == len(found) > 10


def assert_thresholds(answer: Answer, raw: Data, beta: Values) -> None:
    wanted = [(t.label, t.k, t.count, close(t.threshold)) for t in generalised(raw, beta, 0.1)]
    assert [(r["label"], r["k"], r["count"], r["threshold"]) for r in answer] == wanted
    assert len(wanted) > 20


def assert_pseudo_gradient(answer: Answer, raw: Data, beta: Values, lam: float) -> None:
    plan = replace(raw.plan, method="sketch") if raw.plan.method == "grid" else raw.plan
    wanted = PseudoJoinOracle(replace(raw, plan=plan)).pseudo_gradient(beta, 0.1)
    assert [r["hinge"] for r in answer] == close(wanted.tolist())
    assert [r["gradient"] for r in answer] == close((wanted + 2 * lam * beta).tolist())
    columns = [c for c in plan.design.coordinates if c.role != "missing"]
    names: list[tuple[str, str | None]] = [(c.feature, None) for c in columns]
    names += [(d.feature, str(c)) for d in plan.design.dictionaries for c in d.categories]
    assert [(r["feature"], r["category"]) for r in answer] == names


def assert_evaluation(answer: Answer, wanted: Evaluation) -> None:
    assert [r["measure"] for r in answer] == [*CELLS, *of_scores(TWO)]
    for row in answer:
        bounded = getattr(wanted, row["measure"])
        found = (row["value"], row["lower"], row["upper"])
        assert found == close((bounded.value, bounded.lower, bounded.upper)), row["measure"]


def test_a_program_without_the_totals_near_0(installed: Engine, dsn: str) -> None:
    """Without that answer there is no bound on the error."""
    with stored(installed, "chain", "grid"):
        rename = "UPDATE sqlsvm.statements SET name = $1 WHERE program = 'chain' AND name = $2"
        installed.execute(Text(rename), ["lost", NEAR])
        with pytest.raises(StatementError, match=f'no statement "{NEAR}"'):
            installed.fetch(
                Text("SELECT * FROM sqlsvm.objective('chain', CAST($1 AS jsonb))"), [json.dumps(BETAS["chain"])]
            )
