"""Options that do not go together are refused in the same words everywhere; a model that is proven is kept."""

from typing import Any

import pytest

from sqlsvm import RelationalSVC, RelationalSVR
from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.psql.stored_program import stored_program
from sqlsvm.run.train import train
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import typed

QUERY = "SELECT y, x FROM r"


@pytest.fixture
def rows(duckdb: Engine) -> Engine:
    """40 rows. Three have their class of k alone."""
    build(duckdb, "CREATE TABLE r (id BIGINT PRIMARY KEY, y BIGINT, k BIGINT, n FLOAT8, x FLOAT8, g BIGINT)")
    typed(duckdb, "INSERT INTO r SELECT i, i % 2, i % 3, i, sin(i) + i % 2, i % 2 FROM range(1, 41) AS s (i)")
    return duckdb


# -- each of these gave a wrong model, or did not do what was asked for ------------------------------------------------


@pytest.mark.parametrize("solver", ["pegasos", "kernel"])
def test_no_path_of_steps(rows: Engine, solver: Any) -> None:
    """The second model had the weights of the first."""
    with pytest.raises(OptionError, match=f"solver='{solver}' takes one value of lam"):
        RelationalSVC(1e-4, solver=solver).fit_path(rows, QUERY, "y", lam=[1e-1, 1e-3])


def test_three_classes_have_no_auc(rows: Engine) -> None:
    """That is said before anything is trained."""
    passes: list[object] = []
    trainings = {f"m_{lam}": training("k", lam=lam, folds=3) for lam in (0.1, 0.01)}
    with pytest.raises(OptionError, match="there is no auc of a label with more than two classes"):
        trained(rows, "SELECT k, x FROM r", trainings, lambda name: passes.append, asked={"select": "auc"})
    assert not passes


def test_a_fold_without_a_class_is_left_out(rows: Engine) -> None:
    """The model is proven all the same, and the other folds measure it."""
    typed(rows, "UPDATE r SET y = CASE WHEN id % 10 = 0 THEN 1 ELSE 0 END")
    (model,) = trained(rows, QUERY, {"m": training(lam=1e-2, folds=5, probability="sigmoid")})
    assert model.converged
    assert model.probability
    assert 2 <= len(model.validation["auc"].folds) < 5
    assert any(" of 5 folds could not be measured: the label y has one class only" in note for note in model.notes)


def test_groups_are_not_read_if_none_is_to_be(rows: Engine) -> None:
    model = train(rows, "m", "SELECT y, x, g FROM r", training(lam=1e-2, by="g", in_memory=0, loss="squared"))
    assert all(part.counting != "in memory" for part in model.parts)


def test_folds_are_for_something(rows: Engine) -> None:
    with pytest.raises(OptionError, match="folds"):
        train(rows, "m", QUERY, training(folds=3))


@pytest.mark.parametrize("options", [{"folds": 3}, {"by": "g"}, {"l1": 0.1, "probability": "sigmoid", "folds": 2}])
def test_a_stored_program_ignores_nothing(rows: Engine, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="is for sqlsvm train"):
        stored_program(rows, QUERY, training(**options))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quantile": 0.9}, "quantile is for loss='quantile'"),
        ({"delta": 2.0}, "delta is for loss='huber'"),
        ({"loss": "huber", "tube": 0.5}, "tube is for loss='epsilon_insensitive' or squared_epsilon_insensitive"),
        ({"width": 0.1}, "width is for loss='smooth_hinge'"),
        ({"epsilon": 0.5}, "epsilon is for solver='descent'"),
    ],
    ids=str,
)
def test_an_option_that_nothing_reads(rows: Engine, options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        RelationalSVR(**options).fit(rows, "SELECT n, x FROM r", "n")


def test_a_path_of_what_nothing_reads(rows: Engine) -> None:
    """It was the same model twice."""
    with pytest.raises(OptionError, match="quantile is for loss='quantile'"):
        RelationalSVR(1e-4).fit_path(rows, "SELECT n, x FROM r", "n", quantile=[0.1, 0.9])
