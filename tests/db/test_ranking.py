"""A ranking: pairs of rows of one table, the better one first, and no intercept."""

import numpy as np
import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.run.train import train
from tests.ground.liblinear import liblinear_beta
from tests.ground.trained import training
from tests.typed import asked, run

pytestmark = pytest.mark.twin

LAM, FEATURES = 0.01, ("x", "z")
FROM = "FROM docs i JOIN docs j ON j.list = i.list WHERE i.good AND NOT j.good"
QUERY = f"SELECT i.good, i.x - j.x AS x, i.z - j.z AS z {FROM}"


@pytest.fixture
def docs(engine: Engine) -> Engine:
    """x helps, and z does not."""
    values = "g % 40 AS list, g * 7 % 31 AS x, g * 11 % 13 AS z"
    good = "(g * 7 % 31) * 1.0 / 31 + (g * 17 % 23) * 0.5 / 23 > 0.8"
    run(engine, f"CREATE TABLE docs AS SELECT {values}, {good} AS good FROM GENERATE_SERIES(1, 800) AS r(g)")
    return engine


@pytest.mark.parametrize("in_memory", [0, 10_000_000])
def test_pairs(docs: Engine, in_memory: int) -> None:
    wanted = training("good", lam=LAM, intercept=False, scale="none", in_memory=in_memory, tol=1e-4)
    model = train(docs, "m", QUERY, wanted)
    rows = asked(docs, QUERY)
    pairs = np.column_stack([rows[name].astype(float) for name in FEATURES])
    assert len(pairs) == model.join_rows > 2000

    def cost(beta: np.ndarray) -> float:
        return float(LAM * beta @ beta + np.maximum(0.0, 1.0 - pairs @ beta).mean())

    best = cost(liblinear_beta(np.vstack([pairs, -pairs]), np.repeat([1.0, -1.0], len(pairs)), LAM))
    weights = {term.feature: term.weights[0].weight for term in model.terms}
    beta = np.array([weights[name] for name in FEATURES])
    assert model.lower_bound <= best * (1 + 1e-9)
    assert cost(beta) == pytest.approx(model.objective, rel=1e-6)
    assert cost(beta) <= best * (1 + 2e-4)
    assert model.trained_on.label_values == (False, True)


def test_with_an_intercept_one_class_is_refused(docs: Engine) -> None:
    with pytest.raises(DataError, match="one class only"):
        train(docs, "m", QUERY, training("good", lam=LAM))
