"""Scores in SQL against X @ w over random worlds, and where predictions can be put."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.errors import OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import Kind, Of, input_rows, predict, save, score_sql, write_csv, write_parquet
from sqlsvm.model.to_onnx import graph
from sqlsvm.options import Nulls
from sqlsvm.plan.target import read_label_values, target_of
from sqlsvm.query.read_query import read_query
from sqlsvm.run.train import train
from tests.ground import svm
from tests.ground.modelled import category, model_of, modelled, number
from tests.ground.opened import Wish, build, joined
from tests.ground.reference import naive
from tests.ground.schemas import random_world
from tests.ground.trained import training
from tests.typed import asked, run, typed

pytestmark = pytest.mark.twin


def fetch(engine: Engine, query: exp.Expr) -> dict[str, list[object]]:
    with naive(engine):
        return {name: values.tolist() for name, values in asked(engine, query).items()}


@pytest.mark.parametrize("seed", [0, 1, 3, 5, 8, 9])
def test_scores_of_the_query(shared_engine: Engine, seed: int) -> None:
    """With categories, booleans, NULLs and names that break careless SQL; in the rows of the query and in its order."""
    engine, rng = shared_engine, np.random.default_rng(seed)
    world = random_world(rng, max_relations=3, continuous=True)
    assert world.label
    with world.created(engine) as live:
        text, label = live.query(engine.dialect), world.label.name
        rows = joined(engine, text, Wish(label=label))
        if not len(rows.row_ids[""]):
            return  # an empty join is refused before anything is trained
        if any(np.isnan(v).all() for v in rows.features.values() if v.dtype != object):
            return  # and so is a feature that is never known
        truth = svm.design_matrix(rows, "mean")
        beta = rng.normal(size=len(truth.columns))
        model = model_of(engine, text, label, rows, truth, beta)
        found = fetch(engine, predict(engine, model))
        original = fetch(engine, parse_one(text, read=engine.dialect))
        assert list(found) == [*original, "score", "prediction"]
        assert all(len(values) == len(truth.y) for values in found.values())
        # the rows may come in any order, so they are compared sorted by everything they hold
        scores = np.array(found["score"], dtype=float)
        np.testing.assert_allclose(np.sort(scores), np.sort(truth.x @ beta), rtol=1e-9, atol=1e-9)
        mine = next(n for n in original if engine.fold(n, True) == engine.fold(label, True))
        negative, positive = model.trained_on.label_values
        assert {negative, positive} >= set(original[mine])
        assert found["prediction"] == [positive if s > 0 else negative for s in scores.tolist()]


SHOP = """
CREATE TABLE shop (id INT, bought TEXT, price DOUBLE PRECISION, colour TEXT, fresh BOOLEAN);
INSERT INTO shop VALUES
  (1, 'yes', 1.0, 'red', TRUE), (2, 'no', 2.0, 'it''s blue', FALSE),
  (3, 'yes', NULL, NULL, NULL), (4, 'no', 4.0, '', TRUE)
"""
QUERY = "SELECT s.bought, s.price, s.colour, s.fresh FROM shop s"


def shop(engine: Engine, nulls: Nulls = "mean", query: str = QUERY) -> Model:
    build(engine, SHOP)
    missing = 0.5 if nulls == "mean" else None
    weights = [
        number("price", -1.0, missing),
        category("colour", "red", 3.0),
        category("colour", "it's blue", 0.25),
        number("fresh", 0.125, missing),
    ]
    return modelled(
        weights,
        0.5,
        query=query,
        dialect=engine.dialect,
        label="bought",
        nulls=nulls,
        trained_on={"booleans": ["fresh"], "label_values": ["no", "yes"]},
    )


def by_id(engine: Engine, model: Model, rows: str) -> dict[object, tuple[object, object]]:
    found = engine.fetch(predict(engine, model, rows))
    pairs = zip(found["score"].tolist(), found["prediction"].tolist(), strict=True)
    return dict(zip(found["id"].tolist(), pairs, strict=True))


def test_other_rows(engine: Engine) -> None:
    """An unseen category weighs 0, a NULL number is the mean, a prediction is the label's own value."""
    model = shop(engine)
    for rows in ("shop", "SELECT * FROM shop", "SELECT * FROM shop WHERE id > 0 ORDER BY id"):
        found = by_id(engine, model, rows)
        assert found == {1: (2.625, "yes"), 2: (-1.25, "no"), 3: (0.0625, "yes"), 4: (-3.375, "no")}


def test_no_score_without_a_value(engine: Engine) -> None:
    model = shop(engine, "drop")
    found = by_id(engine, model, "SELECT id, price, fresh, NULL::TEXT AS colour FROM shop WHERE id = 1")
    score, prediction = found[1]
    assert score != score
    assert prediction is None
    assert by_id(engine, model, "shop")[4] == (-3.375, "no")


def test_nan_is_no_score(engine: Engine) -> None:
    """Both engines say that it is above 0; so is infinity."""
    model = shop(engine)
    for price, score, predicted in (("NaN", "nan", None), ("-Infinity", "inf", "yes"), ("Infinity", "-inf", "no")):
        rows = f"SELECT id, CAST('{price}' AS DOUBLE PRECISION) AS price, colour, fresh FROM shop WHERE id = 1"
        found, prediction = by_id(engine, model, rows)[1]
        assert (str(found), prediction) == (score, predicted)


REFUSED = {
    "SELECT id, price, color, fresh FROM (SELECT *, colour AS color FROM shop) s": "did you mean color?",
    "SELECT *, 1 AS score, 2 AS sqlsvm_score FROM shop": "the rows have columns score and sqlsvm_score already",
    "SELECT 1; SELECT 2": "neither a table nor one SELECT",
    "DELETE FROM shop": "neither a table nor one SELECT",
    "WITH gone AS (DELETE FROM shop RETURNING *) SELECT * FROM gone": "neither a table nor one SELECT",
    "SELECT * FROM": "neither a table nor one SELECT",
}


def test_rows_that_cannot_be_scored(engine: Engine) -> None:
    model = shop(engine)
    for rows, message in REFUSED.items():
        with pytest.raises(OptionError, match=re.escape(message)):
            predict(engine, model, rows)


def test_columns_that_are_called_as_outputs_are(engine: Engine) -> None:
    """The outputs are called otherwise. Letters of any case are alike: readers of views and files may not tell them
    apart."""
    model = shop(engine)
    found = fetch(engine, predict(engine, model, 'SELECT *, 7 AS "Score", 8 AS prediction, 9 AS probability FROM shop'))
    assert list(found)[-5:] == ["Score", "prediction", "probability", "sqlsvm_score", "sqlsvm_prediction"]
    assert dict(zip(found["id"], found["sqlsvm_score"], strict=True)) == {1: 2.625, 2: -1.25, 3: 0.0625, 4: -3.375}
    assert {*found["Score"]} == {7}


@pytest.mark.parametrize("label", ["score", "Prediction"])
def test_a_label_that_is_called_as_an_output_is(engine: Engine, label: str, tmp_path: Path) -> None:
    """Of two classes, of more, and a number: as rows, in a view and in a file."""
    rows = "SELECT n, n % 4 AS k, n % 4 + n % 3 / 4.0 AS x FROM generate_series(1, 40) AS g(n)"
    build(engine, f"CREATE TABLE f AS {rows}")
    kinds: tuple[tuple[str, dict[str, Any]], ...] = ("k > 1", {}), ("k", {}), ("k", {"loss": "squared"})
    for value, options in kinds:
        text = f'SELECT {value} AS "{label}", x, n AS probability FROM f'
        model = train(engine, "m", text, training(label, lam=1e-2, **options))
        made = predict(engine, model)
        found = fetch(engine, made)
        names = [name if name != label.lower() else f"sqlsvm_{name}" for name in ("score", "prediction")]
        assert list(found)[-2:] == names
        if not options:
            assert np.mean(np.array(found[label]) == np.array(found[names[1]])) > 0.5
        save(engine, made, "v", "view", overwrite=True)
        with (tmp_path / "rows.csv").open("w") as out:
            assert write_csv(engine, made, out) == 40
        assert (tmp_path / "rows.csv").read_text().splitlines()[0] == ",".join(found)
        outputs = [each.name for each in graph(model).graph.output]
        assert outputs[:1] + outputs[-1:] == ["score", "score" if options else "label"]
    taken = modelled([number("score", 1.0), number("x", 2.0)], label="y", dialect=engine.dialect)
    assert [each.name for each in graph(taken).graph.output] == ["sqlsvm_score", "label"]


def test_outputs_without_a_name(engine: Engine) -> None:
    """An expression that was given no alias is a feature of that name, and its column gets it."""
    build(engine, SHOP)
    query = "SELECT bought, 2 * price FROM shop"
    model = modelled([number("2 * price", 1.0)], query=query, dialect=engine.dialect, label="bought")
    found = fetch(engine, predict(engine, model))
    assert list(found) == ["bought", "2 * price", "score", "prediction"]
    assert found["prediction"][0] == 1


def test_outputs_that_differ_in_case(postgres: Engine) -> None:
    run(postgres, "CREATE TABLE t AS SELECT n % 2 AS y, n AS a, n % 7 AS b FROM GENERATE_SERIES(1, 50) AS g(n)")
    text = 'SELECT y, a AS "x", b AS "X" FROM t ORDER BY a'
    model = train(postgres, "m", text, training())
    found = postgres.fetch(predict(postgres, model))
    assert sorted(zip(found["x"].tolist(), found["X"].tolist(), strict=True)) == [(n, n % 7) for n in range(1, 51)]


def test_the_expression_alone(engine: Engine) -> None:
    """Both texts, put into a SELECT by hand, are what predict computes."""
    model = shop(engine, query="SELECT s.bought, s.price * 2 / 2 AS price, s.colour, s.fresh FROM shop s")
    wanted: tuple[Of, Of] = ("features", "query")
    features, query = (score_sql(model, engine.dialect, of) for of in wanted)
    for text in (f"SELECT {features} AS x FROM shop ORDER BY id", f"SELECT {query} AS x FROM shop s ORDER BY s.id"):
        assert asked(engine, parse_one(text, read=engine.dialect))["x"].tolist() == [2.625, -1.25, 0.0625, -3.375]


def test_label_values(engine: Engine) -> None:
    build(engine, SHOP)
    query = read_query(engine, QUERY, label="bought")
    assert read_label_values(engine, query, target_of(engine, query, "hinge", positive="no", centred=False)) == (
        "yes",
        "no",
    )


# -- where they go -----------------------------------------------------------------------------------------------------


def star(engine: Engine, name: str) -> dict[str, list[object]]:
    return fetch(engine, exp.select("*").from_(exp.to_table(name, dialect=engine.dialect)))


@pytest.mark.parametrize(("kind", "name"), [("table", 'main2."Two Words"'), ("view", "out")])
def test_saved(engine: Engine, kind: Kind, name: str) -> None:
    typed(engine, parse_one("CREATE SCHEMA main2"))
    model = shop(engine)
    found = predict(engine, model)
    save(engine, found, name, kind)
    assert star(engine, name)["score"] == [2.625, -1.25, 0.0625, -3.375]
    with pytest.raises(OptionError, match="exists already"):
        save(engine, predict(engine, model), name, kind)
    typed(engine, parse_one("DELETE FROM shop WHERE id > 1"))
    assert len(star(engine, name)["score"]) == (1 if kind == "view" else 4)
    save(engine, predict(engine, model), name, kind, overwrite=True)
    assert star(engine, name)["score"] == [2.625]


def test_what_is_replaced_cannot_be_read_for_it(engine: Engine) -> None:
    model = shop(engine)
    save(engine, predict(engine, model, "shop"), "scored")
    names = ", ".join(f'"{c.name}"' for c in engine.describe(engine.bound(exp.select("*").from_("shop"))))
    with pytest.raises(OptionError, match="cannot replace scored") as refused:
        save(engine, predict(engine, model, f"SELECT {names} FROM scored"), "scored", overwrite=True)
    assert refused.value.hint == "write the predictions to another table"
    assert len(fetch(engine, exp.select("*").from_("scored"))["score"])


def test_what_is_replaced_may_have_the_columns_of_what_is_read(engine: Engine) -> None:
    model = shop(engine)
    save(engine, predict(engine, model, "shop"), "scored")
    for overwrite in (False, True):
        save(engine, predict(engine, model, "shop"), "again", overwrite=overwrite)
        save(engine, predict(engine, model, "again"), "more", overwrite=overwrite)
    assert len(fetch(engine, exp.select("*").from_("more"))["score"]) == 4


def test_a_failed_overwrite_leaves_what_was_there(engine: Engine) -> None:
    """Even where it is the table that the rows come from."""
    model = shop(engine)
    with pytest.raises(Exception, match="shop"):
        save(engine, predict(engine, model, "shop"), "shop", overwrite=True)
    assert len(star(engine, "shop")["id"]) == 4


@pytest.mark.parametrize("name", ["", "a b", "f(1)", "x; DROP TABLE shop", "(SELECT 1)"])
def test_no_name_of_a_table(shared_duckdb: Engine, name: str) -> None:
    with pytest.raises(OptionError, match="not the name of a table"):
        save(shared_duckdb, exp.select("1"), name)


def test_csv(engine: Engine) -> None:
    out = io.StringIO()
    assert write_csv(engine, predict(engine, shop(engine)), out) == 4
    rows = list(csv.reader(io.StringIO(out.getvalue())))
    assert rows[0] == ["bought", "price", "colour", "fresh", "score", "prediction"]
    assert rows[2] == ["no", rows[2][1], "it's blue", "false", "-1.25", "no"]
    assert rows[3] == ["yes", "", "", "", "0.0625", "yes"]


def test_a_csv_has_no_formulas(duckdb: Engine) -> None:
    """Numbers stay numbers, also those with a sign."""
    formulas = ["=1+1", "+cmd", "-2+3", "@sum(a)", "\t=1", "\r=1", "\n=1", "\uff1d1"]
    plain = ["-1.5", "+1e-7", "-inf", "nan", "-.5", "a=1", " =1", "'=1", ""]
    run(duckdb, 'CREATE TABLE t (place INT, c TEXT, "=h" DOUBLE)')
    duckdb.copy_in(
        exp.table_("t"), {"place": np.arange(17), "c": np.array([*formulas, *plain], object), "=h": -np.ones(17)}
    )
    found = exp.select("c", exp.column("=h", quoted=True)).from_("t").order_by("place")
    for keep, wanted in ((False, [f"'{cell}" for cell in formulas]), (True, formulas)):
        out = io.StringIO()
        assert write_csv(duckdb, found.copy(), out, keep_formulas=keep) == 17
        rows = list(csv.reader(io.StringIO(out.getvalue(), newline="")))
        assert rows[0] == ["c", "=h" if keep else "'=h"]
        assert [row[0] for row in rows[1:]] == wanted + plain
        assert {row[1] for row in rows[1:]} == {"-1.0"}


def test_parquet(duckdb: Engine, tmp_path: Path) -> None:
    """The types and values of the columns survive, and a file that exists is replaced only if that is asked."""
    found, place = predict(duckdb, shop(duckdb)), str(tmp_path / "it's.parquet")
    write_parquet(duckdb, found, place)
    again = input_rows(duckdb, place)
    assert duckdb.describe(again) == duckdb.describe(found)
    one, other = (fetch(duckdb, rows.copy().order_by("score")) for rows in (found, again))
    assert str(one) == str(other)  # nan is not equal to nan
    with pytest.raises(OptionError, match="exists already"):
        write_parquet(duckdb, found, place)
    write_parquet(duckdb, found.limit(1), place, overwrite=True)
    assert len(duckdb.fetch(again)["score"]) == 1
    failing = exp.select(exp.cast(exp.Literal.string("no number"), "int").as_("x"))
    with pytest.raises(StatementError):
        write_parquet(duckdb, failing, place, overwrite=True)
    assert len(duckdb.fetch(again)["score"]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["it's.parquet"]
    with pytest.raises(OptionError, match="cannot write"):
        write_parquet(duckdb, found, str(tmp_path / "no" / "folder.parquet"))


def test_columns_of_parquet_have_names_of_their_own(duckdb: Engine, tmp_path: Path) -> None:
    twice = exp.select(exp.Literal.number(1).as_("x"), exp.Literal.number(2).as_("x"))
    with pytest.raises(OptionError, match="two columns with the name x"):
        write_parquet(duckdb, twice, str(tmp_path / "x.parquet"))


def test_postgresql_writes_no_parquet(postgres: Engine, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="does not write Parquet"):
        write_parquet(postgres, exp.select(exp.Literal.number(1).as_("x")), str(tmp_path / "x.parquet"))


def test_csv_of_many_rows(engine: Engine, statements: list[str]) -> None:
    """In the order of the query, and without a table in the database."""
    model = shop(engine)
    build(engine, "INSERT INTO shop (id, price) SELECT 100 + i, i FROM GENERATE_SERIES(1, 29996) AS g(i)")
    found, out = predict(engine, model, "SELECT * FROM shop ORDER BY id DESC"), io.StringIO()
    statements.clear()
    assert write_csv(engine, found, out) == 30_000
    ids = [int(row[0]) for row in csv.reader(io.StringIO(out.getvalue().partition("\n")[2]))]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 30_000
    assert not any("CREATE" in text for text in statements)


class Full(io.StringIO):
    """A disk that has no room for a second line."""

    def write(self, text: str) -> int:
        if self.tell():
            raise OSError("no space left on device")
        return super().write(text)


def test_a_reader_that_stops(engine: Engine) -> None:
    model = shop(engine)
    with pytest.raises(OSError, match="no space left"):
        write_csv(engine, predict(engine, model, "shop"), Full())
    save(engine, predict(engine, model), "after")
    assert len(star(engine, "after")["score"]) == 4


def test_rows_of_a_file(duckdb: Engine, tmp_path: Path) -> None:
    """Cells are text, so that they come out as they were; numbers and booleans are read where the model wants them."""
    model = shop(duckdb)
    path = tmp_path / "it's new.csv"
    path.write_text("id,price,colour,fresh\n007,1.50,red,true\n8,,01,\n")
    out = io.StringIO()
    assert write_csv(duckdb, predict(duckdb, model, str(path)), out) == 2
    assert out.getvalue().splitlines()[1:] == ["007,1.50,red,true,2.125,yes", "8,,01,,0.0625,yes"]


def test_a_key_of_json_is_no_path(engine: Engine) -> None:
    """Neither in the query of a model nor in other rows."""
    build(engine, "CREATE TABLE docs (y INT, j JSON)")
    for y in (0, 1):
        typed(engine, f"""INSERT INTO docs VALUES ({y}, '{{"a.b": {y}, "a": {{"b": {1 - y}}}}}')""")
    text = "SELECT y, CAST(j ->> 'a.b' AS DOUBLE PRECISION) AS z FROM docs"
    model = train(engine, "m", text, training(lam=1e-2))
    assert model.weights[0].weight > 0
    for rows in (None, text):
        found = engine.fetch(predict(engine, model, rows))
        assert found["z"].tolist() == found["y"].tolist() == found["prediction"].tolist()


def test_a_server_reads_no_files(postgres: Engine) -> None:
    with pytest.raises(OptionError, match="cannot read a CSV file"):
        predict(postgres, shop(postgres), "rows.csv")


def test_a_view_costs_one_scan(postgres: Engine) -> None:
    """No sub-query is left, no function is called, and the reader's own condition reaches the table."""
    save(postgres, predict(postgres, shop(postgres)), "seen", "view")
    explain = exp.Command(this="EXPLAIN", expression="VERBOSE SELECT * FROM seen WHERE price > 1")
    lines = [str(line) for line in asked(postgres, explain)["QUERY PLAN"].tolist()]
    assert ["Seq Scan on" in line for line in lines if "cost=" in line] == [True]
    plan = "\n".join(lines)
    assert "Filter: (s.price > " in plan
    assert "SubPlan" not in plan
    output = next(line for line in lines if "Output:" in line)
    called = set(re.findall(r"(\w+)\(", output)) - {"COALESCE"}
    assert called == set()
