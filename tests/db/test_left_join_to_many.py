"""LEFT JOINs that find several rows, against the rows of the query itself."""

import numpy as np
import pytest

from sqlsvm import sql
from sqlsvm.ask.evaluate import evaluate_model
from sqlsvm.engine.base import Engine
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.predict import predict
from sqlsvm.options import Counting
from sqlsvm.run.train import train
from tests.db.test_inspect import check as check_inspection
from tests.db.test_moments import check as check_moments
from tests.db.test_no_temp import bare
from tests.db.test_oracle import assert_exact
from tests.ground.joins import left_join_to_many
from tests.ground.opened import Wish, is_clear, joined, opened_world, truth
from tests.ground.schemas import Wishes, random_world
from tests.ground.sql_program import compiled, trained
from tests.ground.trained import assert_beside_liblinear, assert_proven, training, wish_of
from tests.ground.world import noted

MANY: Wishes = {"to_many": True, "many_to_many": True, "max_relations": 4}
JOIN = left_join_to_many(np.random.default_rng(5))


def test_random_worlds(shared_engine: Engine) -> None:
    """Sizes, moments and a pass."""
    several = 0
    for seed in range(40, 50):
        with noted(f"seed {seed}"), opened_world(shared_engine, seed, Wish(), **MANY) as found:
            if found is None:
                continue
            beta = found.normal(np.random.default_rng(seed))
            assert_exact(found, beta, clear=is_clear(found.truth, beta))
            query, work = found.plan.tree.query, found.problem.work
            assert query.label
            wish = Wish(label=query.label.name)
            check_moments(found.problem, joined(work.engine, query.text, wish), wish)
            several += any(not join.finds_one for join in query.left_joins)
    assert several >= 3


def test_what_inspect_says(shared_engine: Engine) -> None:
    for seed in range(60, 66):
        with noted(f"seed {seed}"):
            check_inspection(shared_engine, random_world(np.random.default_rng(seed), **MANY))


@pytest.mark.parametrize(("counting", "nulls"), [("exact", "mean"), ("grid", "drop")])
def test_training(shared_engine: Engine, counting: Counting, nulls: str) -> None:
    """In passes, and all at once in memory."""
    with JOIN.created(shared_engine):
        for rows in (0, None):
            asked = training(lam=1e-2, nulls=nulls, counting=counting, in_memory=rows)
            model = train(shared_engine, "m", JOIN.query, asked)
            real = truth(shared_engine, JOIN.query, wish_of(asked))
            assert model.converged
            assert_proven(shared_engine, model, real)
            assert_beside_liblinear(model, real)


def test_what_a_model_is_asked(shared_engine: Engine) -> None:
    """Its scores are those of the rows of the query, and a part of its rows can be held out."""
    with JOIN.created(shared_engine):
        asked = training(lam=1e-2, nulls="mean", holdout=0.3)
        model = train(shared_engine, "m", JOIN.query, asked)
        rows = sql.select([(sql.count(), "n")], sql.derived(predict(shared_engine, model), "p"))
        assert shared_engine.fetch(rows)["n"][0] == len(truth(shared_engine, JOIN.query, wish_of(asked)).y)
        found = evaluate_model(shared_engine, model)
        assert isinstance(found, Evaluation)
        assert found.negatives + found.positives == shared_engine.fetch(rows)["n"][0]


def test_elsewhere(installed: Engine, installed_dsn: str) -> None:
    """Offloaded, without tables, and in psql: the same proof."""
    with JOIN.created(installed):
        asked = training(lam=1e-2, nulls="mean")
        real = truth(installed, JOIN.query, wish_of(asked))
        models = [train(installed, "m", JOIN.query, training(lam=1e-2, nulls="mean", offload=True))]
        compiled(installed, "m", JOIN.query, asked)
        models.append(trained(installed, installed_dsn, "m"))
        with bare(installed):
            models.append(train(installed, "m", JOIN.query, training(lam=1e-2, nulls="mean", in_memory=0)))
        for model in models:
            assert_proven(installed, model, real)
