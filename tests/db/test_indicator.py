"""--nulls mean+indicator: the mean for a number that is NULL, and a feature that tells whether there is one."""

from typing import Any

import numpy as np
import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, query_rows, score_sql
from sqlsvm.options import UNNAMED
from sqlsvm.psql.stored_program.make import stored_program
from sqlsvm.rules import named
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import asked

pytestmark = pytest.mark.each

TABLES = """
    CREATE TABLE d AS SELECT g AS k, CASE WHEN g % 3 > 0 THEN COS(g) END AS z,
        CASE WHEN g % 5 > 0 THEN g % 2 = 0 END AS b,
        CASE WHEN g % 4 > 0 THEN DATE '2024-01-01' + CAST(g AS integer) END AS at FROM GENERATE_SERIES(0, 24) AS r(g);
    CREATE TABLE f AS SELECT g % 30 AS k, CASE WHEN g % 7 > 2 THEN SIN(g) END AS x, COS(3 * g) AS u,
        (g % 7 < 3 AND g % 4 > 0) OR SIN(g) > 0.8 AS y FROM GENERATE_SERIES(0, 599) AS r(g);
"""
QUERY = "SELECT f.y, f.x, f.u, d.z, d.b, d.at FROM f LEFT JOIN d ON d.k = f.k"
KNOWN = ("x", "z", "b", "at")
BY_HAND = ", ".join(
    f"CASE WHEN {of}.{name} IS NULL THEN 0 ELSE 1 END AS {name}_known" for of, name in zip("fddd", KNOWN, strict=True)
)


@pytest.fixture
def tables(engine: Engine) -> Engine:
    build(engine, TABLES)
    return engine


def trained(engine: Engine, query: str = QUERY, **options: Any) -> Model:
    return train(engine, "m", query, training(lam=1e-2, tol=1e-6, **options))


@pytest.mark.parametrize("in_memory", [0, 100_000])
def test_it_is_as_written_by_hand(tables: Engine, in_memory: int) -> None:
    found = trained(tables, nulls="mean+indicator", in_memory=in_memory)
    hand = trained(tables, QUERY.replace(" FROM", f", {BY_HAND} FROM"), nulls="mean", in_memory=in_memory)
    mean = trained(tables, nulls="mean", in_memory=in_memory)
    assert [w.feature for w in found.weights] == [w.feature for w in hand.weights]
    assert found.objective == pytest.approx(hand.objective, rel=1e-5)
    assert found.objective < 0.6 * mean.objective
    assert {w.feature for w in mean.weights} == {"x", "u", "z", "b", "at"}


def test_rows_with_nulls_have_one_score(tables: Engine) -> None:
    """By SQL, in memory, and by the expression over columns; and a training that is measured again says the same."""
    model = trained(tables, nulls="mean+indicator")
    rows = tables.fetch(query_rows(tables, model))
    found = predict(tables, model)
    by_sql = np.sort(tables.fetch(found)["score"].astype(float))
    assert not np.isnan(by_sql).any()
    assert np.sort(scores(model, rows)) == pytest.approx(by_sql, rel=1e-12)
    (least,) = asked(tables, f"SELECT MIN({score_sql(model, tables.dialect)}) AS s FROM ({QUERY}) AS r")["s"]
    assert float(least) == pytest.approx(by_sql[0], rel=1e-12)


def test_psql_scores_with_it_and_stores_no_program(installed: Engine) -> None:
    build(installed, TABLES)
    model = train(installed, "indicated", QUERY, training(lam=1e-2, nulls="mean+indicator"))
    open_store(installed).save(model)
    expected = np.sort(installed.fetch(predict(installed, model))["score"].astype(float))
    asks = f"SELECT sqlsvm.decision_function('indicated', {{}}) AS score FROM ({QUERY}) AS r"
    for row in ("to_jsonb(r)", "jsonb_strip_nulls(to_jsonb(r)) - 'y'"):
        assert np.sort(asked(installed, asks.format(row))["score"].astype(float)) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(OptionError, match=r"a stored program takes no nulls='mean.indicator'"):
        stored_program(installed, QUERY, training(lam=1e-2, nulls="mean+indicator"))


def test_a_name_that_is_taken_gets_a_number(tables: Engine) -> None:
    model = trained(tables, QUERY.replace("f.u,", "f.u AS x_known,"), nulls="mean+indicator", map=("spline:z:3",))
    names = {w.feature for w in model.weights}
    assert {"x_known", "x_known2", "z_known", "b_known"} < names
    assert "z" not in names


def test_a_kernel_refuses_it() -> None:
    with pytest.raises(OptionError, match=r"a kernel takes no nulls='mean.indicator'"):
        training(solver="kernel", kernel="rbf", nulls="mean+indicator")


def by_default(**options: Any) -> Training:
    """As a person trains who names no option."""
    return Training.of(**named({"label": "y", **dict.fromkeys(UNNAMED), **options}))


TOLD = "SELECT f.y, f.u, f.x, d.z, f.noise FROM f LEFT JOIN d ON d.k = f.k"


@pytest.fixture
def signal(engine: Engine) -> Engine:
    """y depends on whether x and z are known, and noise is NULL at random. All of d is NULL where no row is found."""
    build(
        engine,
        """
        CREATE TABLE d AS SELECT g AS k, COS(g) AS z, SIN(3 * g) AS w FROM GENERATE_SERIES(0, 24) AS r(g);
        CREATE TABLE f AS SELECT g % 40 AS k, CASE WHEN g % 3 > 0 THEN SIN(g) END AS x, COS(3 * g) AS u,
            CASE WHEN (g * 7919) % 1009 < 500 THEN COS(11 * g) END AS noise,
            SIN(5 * g) + CASE WHEN g % 3 = 0 THEN 1 ELSE 0 END + CASE WHEN g % 40 > 24 THEN -1 ELSE 0 END > 0 AS y
        FROM GENERATE_SERIES(0, 1199) AS r(g);
        """,
    )
    return engine


@pytest.mark.parametrize("options", [{}, {"in_memory": 0, "sample": 900}, {"map": ("spline:x:3",)}, {"holdout": 0.2}])
def test_a_training_that_chooses_adds_those_that_help(signal: Engine, options: dict[str, Any]) -> None:
    """It is then the training with these columns in its query."""
    found = train(signal, "m", TOLD, by_default(**options))
    mean = train(signal, "m", TOLD, by_default(nulls="mean", **options))
    known = {name for each in found.maps if each.map.startswith("known:") for name in each.formulas}
    assert known == {"x_known", "z_known"}
    assert not any(each.map.startswith("known:") for each in mean.maps)
    assert found.chosen
    assert mean.chosen
    assert found.chosen.best.mean > mean.chosen.best.mean + 0.05
    assert any(
        f"_known tell where numbers are NULL: without them the auc is {mean.chosen.best.mean:.4g}" in n
        for n in found.notes
    )
    by_hand = ", ".join(
        f"CASE WHEN {of}.{n} IS NULL THEN 0 ELSE 1 END AS {n}_known" for of, n in (("f", "x"), ("d", "z"))
    )
    hand = train(signal, "m", TOLD.replace(" FROM", f", {by_hand} FROM"), by_default(nulls="mean", **options))
    assert (found.lam, found.loss) == (hand.lam, hand.loss)
    assert found.objective == pytest.approx(hand.objective, rel=1e-3)
    scored = signal.fetch(predict(signal, found))
    assert not np.isnan(scored["score"].astype(float)).any()


def test_columns_that_are_null_together_are_one(signal: Engine) -> None:
    both = train(signal, "m", TOLD.replace("d.z,", "d.z, d.w,"), by_default())
    assert {name for each in both.maps for name in each.formulas} == {"x_known", "z_known"}


def test_where_nothing_is_told_by_a_null_there_are_none(signal: Engine, caplog: pytest.LogCaptureFixture) -> None:
    found = train(signal, "m", "SELECT f.y, f.u, f.noise FROM f", by_default())
    named = train(signal, "m", TOLD, by_default(lam=1e-2, loss="hinge"))
    groups = train(signal, "m", TOLD.replace("f.u,", "f.u > 0 AS half,"), by_default(by="half"))
    for model in (found, named, groups):
        assert not model.maps


def test_of_numbers_and_of_classes(signal: Engine) -> None:
    number = TOLD.replace("f.y,", "CASE WHEN f.x IS NULL THEN 3.0 ELSE f.u END + 0.1 * SIN(f.k) AS y,")
    classes = TOLD.replace("f.y,", "CASE WHEN f.x IS NULL THEN 'a' WHEN f.u > 0 THEN 'b' ELSE 'c' END AS y,")
    for text in (number, classes):
        model = train(signal, "m", text, by_default())
        assert "x_known" in {name for each in model.maps for name in each.formulas}
