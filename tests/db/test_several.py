"""Several models of one training: each certificate, what they share, and what they are chosen and compared by."""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.ask.evaluate import crossings
from sqlsvm.ask.validation import best, means, trained
from sqlsvm.engine.base import Engine
from sqlsvm.run.problems import SOLVERS, Solver
from sqlsvm.run.train import train, train_each
from sqlsvm.run.training import Training
from sqlsvm.solve import bundle, dane
from sqlsvm.solve.run import Proposal, Run
from tests.db.test_numbers import met, numbers
from tests.evaluating import evaluate_parts
from tests.ground.joins import Join, chain, star
from tests.ground.trained import training
from tests.typed import asked

pytestmark = pytest.mark.twin

LAMBDAS = 0.1, 1e-2, 1e-3, 1e-4


def path(option: str, values: tuple[float, ...], **options: Any) -> dict[str, Training]:
    return {f"m_{value:g}": training(**(options | {option: value})) for value in values}


@pytest.mark.slow
@pytest.mark.parametrize("make", [star, chain], ids=lambda make: make.__name__)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_every_model_of_a_path_is_proven(engine: Engine, make: Any, loss: str) -> None:
    """Each is as good as the same training alone, and its bounds hold for it."""
    join: Join = make(np.random.default_rng(1))
    with join.created(engine):
        found = train_each(engine, join.query, path("lam", LAMBDAS, loss=loss, categorical=join.categorical))
        alone = [
            train(engine, m.name, join.query, training(lam=m.lam, loss=loss, categorical=join.categorical))
            for m in found
        ]
    assert [m.name for m in found] == ["m_0.1", "m_0.01", "m_0.001", "m_0.0001"]
    assert [m.lam for m in found] == list(LAMBDAS)
    for one, other in zip(found, alone, strict=True):
        assert one.converged
        assert one.lower_bound <= other.objective_upper
        assert other.lower_bound <= one.objective_upper
        assert len(one.history) == one.passes
    assert sum(m.passes for m in found) <= sum(m.passes for m in alone)


def test_a_path_of_l1_has_more_and_more_weights(duckdb: Engine) -> None:
    join = star(np.random.default_rng(2))
    with join.created(duckdb):
        found = train_each(duckdb, join.query, path("l1", (1.0, 0.05, 0.01, 0.0), lam=1e-3))
    counts = [sum(w.weight != 0.0 for w in model.weights) for model in found]
    assert counts[0] == 0
    assert counts == sorted(counts)
    assert all(model.converged for model in found)


def test_phases_are_those_of_each_model(duckdb: Engine) -> None:
    join = star(np.random.default_rng(2))
    with join.created(duckdb):
        first, *rest = train_each(duckdb, join.query, path("lam", LAMBDAS))
    assert first.phases["sampling"] > 0.0
    assert all("sampling" not in model.phases and "tables" not in model.phases for model in rest)
    assert all((model.total_seconds or 0.0) > 0.0 for model in rest)


def test_several_begin_at_the_weights_of_a_model(duckdb: Engine) -> None:
    """The first of them looks there, and its cut is one of the others'."""
    join = star(np.random.default_rng(8), 500)
    asked = path("lam", (0.1, 0.01), categorical=join.categorical, tol=1e-6)
    with join.created(duckdb):
        quiet = train_each(duckdb, join.query, asked)
        found = train_each(duckdb, join.query, asked, start=quiet[0])
    for one, other in zip(found, quiet, strict=True):
        assert one.converged
        assert one.lower_bound <= other.objective_upper * (1 + 1e-9)
        assert other.lower_bound <= one.objective_upper * (1 + 1e-9)
    assert found[0].history[0]["objective"] == pytest.approx(quiet[0].objective, rel=1e-6)
    assert found[1].history[0]["objective"] != pytest.approx(found[0].history[0]["objective"], rel=1e-6)


@pytest.mark.parametrize("bags", [1, 2])
@pytest.mark.parametrize("intercept", [True, False])
def test_quantiles_cross_where_the_rows_say(engine: Engine, bags: int, intercept: bool) -> None:
    rng = np.random.default_rng(7)
    join = met(rng, 2) if bags == 2 else numbers(rng, 400, shift=0.0)
    trainings = path("quantile", (0.4, 0.45, 0.9), loss="quantile", intercept=intercept, lam=1e-5)
    with join.created(engine):
        models = train_each(engine, join.query, trainings)
        found = crossings(engine, models)
        raw = asked(engine, parse_one(join.query, read=engine.dialect))
    shares = []
    for lower, upper in pairwise(models):
        distance = np.full(len(raw["y"]), upper.intercept - lower.intercept)
        for one, other in zip(lower.weights, upper.weights, strict=True):
            distance += (other.weight - one.weight) * raw[one.feature].astype(float)
        shares.append(float((distance < 0.0).mean()))
    assert found == pytest.approx(shares, abs=1e-12)
    assert intercept or found[0] > 0.0  # so close, they do cross


def test_measures_on_the_rows_held_out(engine: Engine) -> None:
    """They are those of an evaluation; the loss is the mean over these rows."""
    join = star(np.random.default_rng(3))
    with join.created(engine):
        models = trained(engine, join.query, path("lam", (1.0, 1e-3), holdout=0.3, class_weight="balanced"))
        found = [means(model.validation) for model in models]
        for model, measures in zip(models, found, strict=True):
            wanted = evaluate_parts(engine, model, ["holdout"])["holdout"]
            assert wanted.auc is not None
            assert measures["auc"] == pytest.approx(wanted.auc.value)
            assert measures["f1"] == pytest.approx(wanted.f1.value)
    assert found[1]["auc"] > found[0]["auc"] - 0.05
    assert best(found, "loss") == int(found[1]["loss"] < found[0]["loss"])
    assert best(found, "auc") == int(found[1]["auc"] > found[0]["auc"])


def test_the_loss_on_rows_held_out_is_that_of_their_residuals(duckdb: Engine) -> None:
    join = numbers(np.random.default_rng(4), 800)
    with join.created(duckdb):
        models = trained(duckdb, join.query, path("lam", (10.0, 1e-3), loss="absolute", holdout=0.25))
    found = [means(model.validation) for model in models]
    for measures in found:
        assert measures["loss"] == pytest.approx(measures["mae"])
    assert best(found, "mae") == best(found, "loss") == 1


def test_a_solver_is_a_line(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What docs/internals.md says of adding one: here one in the place of another, that begins with passes of it."""
    asked_for, begun = list[Proposal](), bundle.proposals

    def proposals(run: Run[Any]) -> Iterator[Proposal]:
        for proposal in islice(begun(run), 3):
            asked_for.append(proposal)
            yield proposal
        yield from dane.proposals(run)

    monkeypatch.setitem(SOLVERS, "bundle", Solver(proposals))
    join = star(np.random.default_rng(3), 400)
    with join.created(duckdb):
        found, other = (train(duckdb, "m", join.query, training(lam=1e-2, solver=name)) for name in ("bundle", "dane"))
    assert len(asked_for) == 3
    assert found.converged
    assert max(found.lower_bound, other.lower_bound) <= min(found.objective_upper, other.objective_upper)
