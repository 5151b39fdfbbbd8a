"""Trainings that begin at the weights of a model."""

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import RelationalSVC
from sqlsvm.engine.base import Engine
from sqlsvm.run.train import train
from tests.ground.joins import categories, chain, star
from tests.ground.trained import training
from tests.typed import typed

SHAPES = {"star": star, "chain": chain, "categories": categories}


@pytest.mark.thin(5)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("shape", SHAPES)
def test_data_that_moved_a_little_take_two_passes(engine: Engine, shape: str, loss: str) -> None:
    join = SHAPES[shape](np.random.default_rng(5))
    asked = training(lam=1e-3, loss=loss, categorical=join.categorical, seed=5)
    with join.created(engine):
        old = train(engine, "m", join.query, asked)
        first, *_ = join.rows
        number = next(n for n, values in join.rows[first].items() if values.dtype.kind == "f")
        limit = float(np.quantile(join.rows[first][number], 0.01))
        condition = exp.LT(this=exp.column(number), expression=exp.Literal.number(repr(limit)))
        typed(engine, exp.Delete(this=exp.to_table(first), where=exp.Where(this=condition)))
        again, anew = (train(engine, "m", join.query, asked, start=start) for start in (old, None))
    assert again.join_rows < old.join_rows
    assert again.converged
    assert again.passes <= 3  # two, but for a join of several bags that is smaller than its sample: rows repeat there
    assert again.passes <= anew.passes
    assert again.lower_bound <= anew.objective_upper
    assert anew.lower_bound <= again.objective_upper


def test_a_model_of_other_features_is_a_start_too(engine: Engine) -> None:
    """What it does not know begins at 0."""
    join = star(np.random.default_rng(5))
    with join.created(engine):
        old = train(engine, "m", join.query.replace("s.price, ", ""), training(lam=1e-2, intercept=False))
        new = train(engine, "m", join.query, training(lam=1e-2), start=old)
    assert new.converged


def test_the_start_is_the_old_optimum(duckdb: Engine) -> None:
    """On the same rows its objective is that of the first pass, also on other scales and for the squared loss."""
    join = star(np.random.default_rng(5))
    with join.created(duckdb):
        old = train(duckdb, "m", join.query, training(lam=1e-3))
        new = train(duckdb, "m", join.query, training(lam=1e-3), start=old)
        assert new.history[0]["objective"] == pytest.approx(old.objective, rel=1e-9)
        numbers = join.query.replace("s.y, s.qty, ", "s.qty AS y, ")
        ridge = train(duckdb, "m", numbers, training(loss="squared"))
        assert train(duckdb, "m", numbers, training(loss="squared"), start=ridge).converged


def test_an_estimator_begins_where_it_was(duckdb: Engine) -> None:
    join = star(np.random.default_rng(5))
    with join.created(duckdb):
        svc = RelationalSVC(1e-3, sample=100, warm_start=True).fit(duckdb, join.query, "y")
        objective = svc.objective_
        svc.fit(duckdb, join.query, "y")
        assert svc.history_[0]["objective"] == pytest.approx(objective, rel=1e-9)
        svc.set_params(warm_start=False).fit(duckdb, join.query, "y")
        assert svc.history_[0]["objective"] > objective
