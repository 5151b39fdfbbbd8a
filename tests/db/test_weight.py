"""What a row counts: refused where nothing could be proven of it, wherever the join keeps it."""

import numpy as np
import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train
from tests.ground.opened import build, truth
from tests.ground.trained import assert_proven, training, wish_of
from tests.typed import typed

pytestmark = pytest.mark.twin

TABLES = """
CREATE TABLE f (k INT, y INT, x FLOAT8); CREATE TABLE d (k INT, z FLOAT8, w FLOAT8);
INSERT INTO f VALUES (1, 1, 1), (1, 0, -1), (2, 1, 2), (2, 0, 0.5), (3, 1, 1.5), (3, 0, -2);
INSERT INTO d VALUES (1, 0.5, 1), (2, 1, 2), (2, 0, 3), (3, 1, 0)
"""
JOIN = "SELECT f.y, f.x, d.z, d.w FROM f JOIN d ON d.k = f.k"
ODD = "the weight w is negative, NaN or infinite in 4 rows of the join"


def refusal(engine: Engine, text: str, **options: object) -> DataError:
    with pytest.raises(DataError) as found, open_problem(engine, text, ProblemOptions("y", weight="w", **options)):  # type: ignore[arg-type]
        pass
    return found.value


@pytest.mark.parametrize("value", ["-0.5", "CAST('NaN' AS DOUBLE PRECISION)", "CAST('Infinity' AS DOUBLE PRECISION)"])
def test_no_row_counts_against_others(engine: Engine, value: str) -> None:
    build(engine, TABLES)
    typed(engine, f"UPDATE d SET w = {value} WHERE k = 2")
    assert refusal(engine, JOIN).message == ODD
    hint = refusal(engine, JOIN, class_weight="balanced").hint
    assert hint
    asked = training(weight="w", lam=1e-2, sample=200)
    left = f"{JOIN} {hint.partition(': ')[2]}"
    assert_proven(engine, train(engine, "w", left, asked), truth(engine, left, wish_of(asked)))


def test_a_weight_that_is_not_known(engine: Engine) -> None:
    """As a NULL feature: refused, or its rows are left out."""
    build(engine, TABLES)
    typed(engine, "UPDATE d SET w = NULL WHERE k = 1")
    said = refusal(engine, JOIN)
    assert said.message == "the weight w is NULL in 2 rows of the join"
    assert said.hint
    assert "COALESCE" in said.hint
    asked = training(weight="w", nulls="drop", lam=1e-2, sample=200)
    rest = training(weight="w", lam=1e-2, sample=200)
    model = train(engine, "w", JOIN, asked)
    assert model.join_rows == 2 * (2 + 3)
    assert_proven(engine, model, truth(engine, f"{JOIN} WHERE d.k > 1", wish_of(rest)))


def test_what_the_join_leaves_out_may_weigh_anything(engine: Engine) -> None:
    build(engine, f"{TABLES}; INSERT INTO d VALUES (9, 1, -1), (NULL, 1, NULL), (8, 1, 'NaN')")
    with open_problem(engine, JOIN, ProblemOptions("y", weight="w")) as found:
        assert found.moments.n == pytest.approx(2 * (1 + 2 + 3))


def test_a_weight_behind_a_left_join(engine: Engine) -> None:
    """Rows without a match have none; where all have one nothing is missing."""
    build(engine, TABLES)
    text = "SELECT f.y, f.x, d.w FROM f LEFT JOIN (SELECT * FROM d WHERE z <> 0) AS d ON d.k = f.k"
    with open_problem(engine, text, ProblemOptions("y", weight="w")) as found:
        assert found.moments.n == pytest.approx(2 * (1 + 2))
    typed(engine, "INSERT INTO f VALUES (7, 1, 1)")
    assert refusal(engine, text).message == "the weight w is NULL in 1 rows of the join"


def test_nothing_weighs_anything(engine: Engine) -> None:
    build(engine, TABLES)
    typed(engine, "UPDATE d SET w = 0")
    assert refusal(engine, JOIN).message == "no row of the join has a w above 0, or there is none"


def test_small_weights_are_sampled_alike(engine: Engine) -> None:
    """A thousandth of a row each: the sample has as many different rows as if each counted one."""
    build(engine, "CREATE TABLE f (y INT, x FLOAT8, w FLOAT8)")
    typed(engine, "INSERT INTO f SELECT i % 2, SIN(i), 0.001 FROM generate_series(1, 1000) AS s (i)")
    with open_problem(engine, "SELECT y, x, w FROM f", ProblemOptions("y", weight="w")) as found:
        rows = JoinOracle(found).sample(2000, 0)
    seen, times = np.unique(rows.rows.dense()[:, 1], return_counts=True)
    assert len(rows.signs) == 2000
    assert len(seen) == 1000
    assert times.max() <= 4


def test_balanced_classes_are_sampled_alike(engine: Engine) -> None:
    """A row of the large class counts less than one, and is still drawn."""
    build(engine, "CREATE TABLE f (y INT, x FLOAT8)")
    y = "CASE WHEN i % 10 = 0 THEN 1 ELSE 0 END"
    typed(engine, f"INSERT INTO f SELECT {y}, SIN(i) FROM generate_series(1, 1000) AS s (i)")
    asked = training(class_weight="balanced", lam=1e-3, sample=5000)
    with open_problem(engine, "SELECT y, x FROM f", asked) as found:
        rows = JoinOracle(found).sample(5000, 0)
    assert len(np.unique(rows.rows.dense()[:, 1])) == 1000
    assert np.mean(rows.signs > 0) == pytest.approx(0.5, abs=0.01)
    assert train(engine, "b", "SELECT y, x FROM f", asked).passes <= 2
