"""300 problems through the database, on either engine every other one: the certificate may be loose, never wrong."""

from typing import Literal

import numpy as np
import pytest

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.options import Counting
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from tests.ground.joins import Join
from tests.ground.opened import truth
from tests.ground.problems import KINDS, Table, problem, wide
from tests.ground.trained import assert_beside_liblinear, assert_proven, sensible, training, wish_of

pytestmark = pytest.mark.slow

LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
SCALES = ("standard", "none", "maxabs")
MANY = 100_000
EACH = 34
"""Problems of a kind; with nine kinds 306 in all, half of them by night."""


@pytest.mark.parametrize("quarter", [0, pytest.param(2, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_is_never_wrong(shared_engine: Engine, kind: Table, quarter: int) -> None:
    """On one bag and on two; by exact counts and on the grid; before and after the gap is closed."""
    for number in range(quarter + (shared_engine.dialect == "duckdb"), EACH, 4):
        rng = np.random.default_rng(1000 * KINDS.index(kind) + number)
        counting: Counting = "grid" if rng.random() < 0.4 else "exact"
        solver: Literal["dane", "bundle"] = "bundle" if rng.random() < 0.2 else "dane"
        asked = sensible(
            lam=float(rng.choice(LAMBDAS)),
            scale=str(rng.choice(SCALES)),
            counting=counting,
            solver=solver,
            sample=int(rng.choice([5, 300])),
            max_passes=int(rng.choice([1, 3, 12])),
            in_memory=MANY if number % 3 == 0 else 0,
        )
        join = problem(rng, kind, fan_out=int(rng.integers(0, 4)))
        try:
            join.create(shared_engine)
            check(shared_engine, join, asked)
        except BaseException as error:
            error.add_note(f"number {number}: {asked}")
            raise
        finally:
            for table in join.rows:
                shared_engine.execute(shared_engine.placed(sql.drop(table)))


def check(engine: Engine, join: Join, asked: Training) -> None:
    rows = truth(engine, join.query, wish_of(asked))
    model = train(engine, "p", join.query, asked)
    assert_proven(engine, model, rows)
    assert_beside_liblinear(model, rows)


@pytest.mark.parametrize("counting", ["exact", "grid"])
def test_two_hundred_features(engine: Engine, counting: Counting) -> None:
    """201 of the 501 rows lie on the hinge. Passes that count whole rows would prove it slowly."""
    join = wide(np.random.default_rng(9))
    join.create(engine)
    asked = training(lam=1e-2, counting=counting, in_memory=MANY)
    rows = truth(engine, join.query, wish_of(asked))
    assert rows.x.shape[1] == 201
    model = train(engine, "wide", join.query, asked)
    assert (model.converged, model.counting) == (True, "in memory")
    assert_proven(engine, model, rows)
    assert_beside_liblinear(model, rows, max_iter=300)
