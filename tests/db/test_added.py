"""What docs/internals.md says of adding a loss, a map, a split and a solver: each is a thing and a line of a table."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.ask.evaluate import measure
from sqlsvm.ask.rows import on_all, on_parts
from sqlsvm.engine.base import Engine
from sqlsvm.maps import formula, kinds
from sqlsvm.maps.asked import Asked
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.options import MAP_FORMS, MAPS, OPTIONS, Choice
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites import split
from sqlsvm.run.problems import SOLVERS, Solver
from sqlsvm.run.train import train, train_each
from sqlsvm.solve.loss import HINGE
from sqlsvm.solve.loss import named as losses
from sqlsvm.solve.loss.piecewise import Change
from sqlsvm.solve.oracle import Oracle
from sqlsvm.solve.run import Proposal, Run
from tests.ground.joins import chain, star
from tests.ground.trained import training


@pytest.mark.parametrize("data", [star, chain])
@pytest.mark.parametrize("in_memory", [0, None])
def test_a_loss_is_a_line(duckdb: Engine, monkeypatch: pytest.MonkeyPatch, data: Any, in_memory: int | None) -> None:
    """Twice the hinge, with twice the penalty, has twice the objective and the same weights."""
    twice = replace(HINGE, changes=(Change(0.0, jump=2.0),))
    words = (*OPTIONS["loss"].domain.words, "twice")  # type: ignore[attr-defined]
    monkeypatch.setitem(OPTIONS, "loss", replace(OPTIONS["loss"], domain=Choice(words)))
    monkeypatch.setitem(losses.__globals__["_PLAIN"], "twice", twice)
    join = data(np.random.default_rng(3), 400)
    with join.created(duckdb):
        own, other = (
            train(duckdb, "m", join.query, training(lam=lam, loss=loss, in_memory=in_memory, tol=1e-6))
            for loss, lam in (("twice", 2e-2), ("hinge", 1e-2))
        )
    assert own.converged
    assert own.loss == "twice"
    assert own.objective == pytest.approx(2.0 * other.objective, rel=1e-5)
    assert own.lower_bound <= 2.0 * other.objective_upper
    assert 2.0 * other.lower_bound <= own.objective_upper


def square(asked: Asked) -> Mapped:
    column, x = asked.number(), formula.argument(1)
    text = formula.text_of(sql.product(x, x.copy()))
    return Mapped(f"square:{column.name}", (column.name,), {f"{column.name}_square": text}, replaces=False)


def test_a_map_is_a_function_and_a_line(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The square of a column, beside the same as it may be typed."""
    monkeypatch.setitem(kinds.MAPS, "square", square)
    monkeypatch.setitem(MAP_FORMS, "square", "square:COLUMN")
    form = replace(MAPS, form=re.compile(rf"({'|'.join(MAP_FORMS)}):.+"))
    monkeypatch.setitem(OPTIONS, "map", replace(OPTIONS["map"], domain=form))
    join = star(np.random.default_rng(4), 600)
    join.create(engine)
    typed = join.query.replace(" FROM", ", s.qty * s.qty AS qty_square FROM", 1)
    assert "s.qty" in join.query
    own = train(engine, "m", join.query, training(lam=1e-3, map=("square:qty",), tol=1e-8))
    other = train(engine, "m", typed, training(lam=1e-3, tol=1e-8))
    weights = [{weight.feature: weight.weight for weight in model.weights} for model in (own, other)]
    assert weights[0].keys() == weights[1].keys()
    assert [*weights[0].values()] == pytest.approx([weights[1][name] for name in weights[0]], abs=1e-3)
    found, beside = (on_all(engine, model, partial(measure, model=model)) for model in (own, other))
    assert isinstance(found, Evaluation)
    assert isinstance(beside, Evaluation)
    assert found.auc == pytest.approx(beside.auc, abs=1e-3)


@dataclass(frozen=True)
class OddStores:
    """The rows of stores with an odd number, if these are asked for by a share of one half."""

    by: None = None
    said = "odd stores"
    hint = "keep fewer stores"

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "OddStores | None":
        return cls() if options.get("holdout") == 0.5 else None

    def condition(self, query: FeatureQuery, facts: Facts) -> exp.Expression:
        return sql.equal(
            exp.Mod(this=sql.named("store", query.label_relation), expression=exp.Literal.number(2)),
            exp.Literal.number(1),
        )


@pytest.mark.parametrize("in_memory", [0, None])
def test_a_split_is_a_class_and_a_line(engine: Engine, monkeypatch: pytest.MonkeyPatch, in_memory: int | None) -> None:
    """Both sides are what the same conditions in WHERE make, and another share is split as before."""
    monkeypatch.setattr(split, "SPLITS", [OddStores, *split.SPLITS])
    join = star(np.random.default_rng(5), 800)
    join.create(engine)
    sides = [f"{join.query} WHERE s.store % 2 = {side}" for side in (0, 1)]
    model = train(engine, "m", join.query, training(lam=1e-2, holdout=0.5, in_memory=in_memory, tol=1e-6))
    alone, unseen = (train(engine, "m", side, training(lam=1e-2, in_memory=in_memory, tol=1e-6)) for side in sides)
    assert model.label_rows == alone.label_rows
    assert model.trained_on.held_out == unseen.label_rows
    assert model.objective == pytest.approx(alone.objective, rel=1e-5)
    measured = on_parts(engine, model, cast(Any, partial(measure, model=model)))
    rows = {part: sum([found.negatives, found.positives]) for part, found in measured.items()}
    assert rows == {"train": sum(alone.label_rows.values()), "holdout": sum(unseen.label_rows.values())}
    other = train(engine, "m", join.query, training(lam=1e-2, holdout=0.3, in_memory=in_memory))
    assert 0.15 < sum(other.trained_on.held_out.values()) / 800 < 0.45


def halves(run: Run[Oracle]) -> Iterator[Proposal]:
    """To where, by the cuts, half of the gap may be closed."""
    while not run.finished:
        proof, begin = run.certificate, np.zeros(run.oracle.dimension)
        level = (proof.objective + proof.lower_bound) / 2.0
        yield Proposal(run.bundle.project(run.points[run.best], level) if run.cuts else begin, None)


def test_a_solver_is_a_function_and_a_line(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It proves as the others do, also several trainings and groups."""
    words = (*OPTIONS["solver"].domain.words, "halves")  # type: ignore[attr-defined]
    monkeypatch.setitem(OPTIONS, "solver", replace(OPTIONS["solver"], domain=Choice(words)))
    monkeypatch.setitem(SOLVERS, cast(Any, "halves"), Solver(halves))
    join = star(np.random.default_rng(6), 400)
    by = replace(join, query=join.query.replace("SELECT ", "SELECT s.store % 2 AS odd, ", 1))
    with by.created(duckdb):
        for query, own in ((join.query, {}), (by.query, {"by": "odd"})):
            found = [
                train_each(duckdb, query, {f"m{lam}": training(lam=lam, solver=solver, **own) for lam in (0.1, 0.01)})
                for solver in ("halves", "dane")
            ]
            for one, other in zip(*found, strict=True):
                assert one.solver == "halves"
                assert one.converged
                assert one.lower_bound <= other.objective_upper * (1 + 1e-9)
                assert other.lower_bound <= one.objective_upper * (1 + 1e-9)
