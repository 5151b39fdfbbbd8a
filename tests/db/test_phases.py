"""What a training says of its time: the phases, and the lines while they last."""

import logging
from datetime import datetime
from time import perf_counter
from typing import Any

import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.report import gather_from, html
from sqlsvm.run import clock
from sqlsvm.run.resume import Continuation
from sqlsvm.run.train import train
from sqlsvm.solve.local import LocalProblem
from sqlsvm.terminal import READING
from tests.evaluating import evaluate_model, evaluate_parts
from tests.ground.opened import build
from tests.ground.trained import training
from tests.sized import sized

TABLES = """
CREATE TABLE f (k INT, y INT, x FLOAT8);
CREATE TABLE g (k INT, u FLOAT8);
INSERT INTO f VALUES (1, 1, 0.5), (1, 0, -1), (2, 1, 2), (2, 0, 2.5), (2, 1, 1);
INSERT INTO g VALUES (1, 0.25), (1, 1), (2, 3), (2, 1), (2, 7)
"""
QUERY = "SELECT f.y, f.x, g.u FROM f JOIN g ON g.k = f.k"
NAP, SEED = 1000.0, 0


@pytest.fixture
def slow_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver takes a quarter of an hour, by the clock that a training looks at."""
    quick, naps = LocalProblem.minimise, list[float]()

    def slow(*given: Any) -> Any:
        naps.append(NAP)
        return quick(*given)

    monkeypatch.setattr(LocalProblem, "minimise", slow)
    monkeypatch.setattr(clock, "perf_counter", lambda: perf_counter() + sum(naps))


def test_phases_add_up_to_the_wall_clock(engine: Engine, slow_solver: None) -> None:
    """Also if the time is not spent in passes, but in the problem of the sample."""
    build(engine, TABLES)
    model = train(engine, "m", QUERY, training(lam=0.1, holdout=None))
    assert model.total_seconds is not None
    assert NAP <= model.phases["solving"] <= model.total_seconds
    assert model.total_seconds == pytest.approx(sum(model.phases.values()), abs=0.1 * NAP)
    assert model.seconds == pytest.approx(model.phases["passes"], abs=0.1 * NAP)
    assert {"reading", "tables", "moments", "sampling", "solving", "passes", "finishing"} <= set(model.phases)
    assert Model.from_json(model.as_json()).phases == model.phases


def test_each_phase_says_what_is_done(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    build(engine, TABLES)
    with caplog.at_level(logging.DEBUG, "sqlsvm"):
        train(engine, "m", QUERY, training(lam=0.1, max_passes=2, tol=1e-12, sample=1000), None, Continuation())
    said = list(dict.fromkeys(caplog.messages))
    assert said == [
        READING,
        "looking at rows and keys of the tables",
        "preparing the tables",
        "counting the join and the moments of its features",
        "sampling 1,000 rows of the join",
        "solving the problem of 1,000 rows",
        "pass 1",
        "taking a digest of the rows",
        "choosing where to make the next pass",
        "pass 2",
        "finishing the model",
    ]


def test_a_small_join_is_read_and_solved(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    build(engine, TABLES)
    with caplog.at_level(logging.DEBUG, "sqlsvm"):
        train(engine, "m", QUERY, training(lam=0.1, in_memory=13))
    assert [*dict.fromkeys(caplog.messages)][3:] == [
        "reading the rows of the join, which is small",
        "counting the join and the moments of its features",
        "solving the problem of 13 rows",
        "pass 1",
        "choosing where to make the next pass",
        "finishing the model",
    ]


def test_what_evaluate_and_report_say(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    build(engine, TABLES)
    model = train(engine, "m", QUERY, training(lam=0.1, holdout=0.5, seed=SEED))
    prepared = ["looking at rows and keys of the tables", "preparing the tables"]
    counted = [*prepared, "counting the join and the moments of its features", "counting the scores of the join"]
    caplog.clear()  # another test may have raised the level
    with caplog.at_level(logging.INFO, "sqlsvm"):
        evaluate_parts(engine, model)
    trained = "selecting the rows that holdout=0.5 leaves to train on"
    held = "selecting the rows that holdout=0.5 holds out"
    assert caplog.messages == [trained, *counted, held, *counted]
    caplog.clear()
    with caplog.at_level(logging.INFO, "sqlsvm"):
        html(gather_from(engine, model), datetime(2020, 1, 1))
    assert caplog.messages[:3] == [prepared[0], "comparing the features", "counting the join"]
    assert caplog.messages[-2:] == ["counting the scores of the join", "drawing the report"]


def test_a_grid_is_named(engine: Engine, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    sized(monkeypatch, listed=0)
    build(engine, TABLES)
    model = train(engine, "m", QUERY, training(lam=0.1))
    with caplog.at_level(logging.INFO, "sqlsvm"):
        evaluate_model(engine, model)
    end = ["counting the scores of the join", "counting the scores on a grid"]
    assert caplog.messages[-2:] == end
