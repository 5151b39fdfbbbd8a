"""`--rare N`: categories in fewer rows of the join share one weight."""

from typing import Any

import numpy as np
import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, query_rows
from sqlsvm.options import OPTIONS
from sqlsvm.plan.design import OTHER
from sqlsvm.psql.stored_program.make import stored_program
from sqlsvm.run.train import train
from tests.evaluating import evaluate_model
from tests.ground.opened import build
from tests.ground.trained import training

TABLES = """
    CREATE TABLE d AS SELECT g % 4 AS k, COS(g) AS z FROM GENERATE_SERIES(0, 11) AS r(g);
    CREATE TABLE f AS SELECT g % 4 AS k, SIN(g) AS x,
        CASE WHEN g < 200 THEN 'much' WHEN g < 300 THEN 'some' WHEN g < 310 THEN 'ten'
            WHEN g < 320 THEN CONCAT('n', g) END AS c,
        g % 3 AS n, SIN(3 * g) > 0.3 OR g BETWEEN 300 AND 319 AS y FROM GENERATE_SERIES(0, 399) AS r(g);
"""
FROM = " FROM f JOIN d ON d.k = f.k"
QUERY = f"SELECT f.y, f.x, f.c, d.z{FROM}"
BY_HAND = QUERY.replace("f.c", "CASE WHEN f.c IN ({}) OR f.c IS NULL THEN f.c ELSE 'else' END AS c")
"""Each row of f meets three of d, so the category of ten rows has thirty in the join."""


@pytest.fixture
def tables(engine: Engine) -> Engine:
    build(engine, TABLES)
    return engine


def trained(engine: Engine, query: str = QUERY, **options: Any) -> Model:
    return train(engine, "m", query, training(lam=1e-2, tol=1e-4, **options))


def categories(model: Model) -> set[object]:
    return {w.category for w in model.weights if w.feature == "c"}


@pytest.mark.parametrize("in_memory", [0, 100_000])
@pytest.mark.parametrize(("rare", "kept"), [(30, ["much", "some", "ten"]), (31, ["much", "some"]), (301, ["much"])])
def test_rows_of_the_join_count(tables: Engine, rare: int, kept: list[str], in_memory: int) -> None:
    found = trained(tables, rare=rare, in_memory=in_memory)
    hand = trained(tables, BY_HAND.format(", ".join(f"'{name}'" for name in kept)), in_memory=in_memory)
    assert categories(found) == {*kept, OTHER}
    assert found.objective == pytest.approx(hand.objective, rel=2e-4)
    others = next(w.weight for w in found.weights if w.category is OTHER)
    assert others == pytest.approx(next(w.weight for w in hand.weights if w.category == "else"), abs=5e-2)


def test_a_category_that_is_not_rare_has_a_weight(tables: Engine) -> None:
    assert len(categories(trained(tables, rare=3))) == 13
    assert categories(trained(tables, rare=3)) == categories(trained(tables))


def test_with_top_both_hold(tables: Engine) -> None:
    assert categories(trained(tables, rare=31, top=("c:5",))) == {"much", "some", OTHER}
    assert categories(trained(tables, rare=31, top=("c:1",))) == {"much", OTHER}


def test_its_rows_have_one_score(tables: Engine) -> None:
    model = trained(tables, rare=31)
    by_sql = np.sort(tables.fetch(predict(tables, model))["score"].astype(float))
    assert np.sort(scores(model, tables.fetch(query_rows(tables, model)))) == pytest.approx(by_sql, rel=1e-12)
    assert evaluate_model(tables, model).rows == 1200


def test_all_are_rare(tables: Engine) -> None:
    with pytest.raises(DataError, match="each category of c is in fewer than 5000 rows of the join"):
        trained(tables, rare=5000)


def test_numbers_as_categories_and_a_group(tables: Engine) -> None:
    model = trained(tables, QUERY.replace("f.x,", "f.x, f.n,"), rare=401, categorical=("n",))
    assert {w.category for w in model.weights if w.feature == "n"} == {0, OTHER}
    grouped = trained(tables, f"SELECT f.y, f.x, f.n{FROM}", rare=401, by="n")
    assert len(grouped.groups) == 3


def test_a_stored_program_refuses_it(tables: Engine) -> None:
    assert OPTIONS["rare"].default == 0
    with pytest.raises(OptionError, match="a stored program takes no rare"):
        stored_program(tables, QUERY, training(lam=1e-3, rare=20))
