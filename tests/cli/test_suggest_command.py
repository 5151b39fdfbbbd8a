"""The verb suggest, and the verb learn, which trains on what it writes."""

import json

import duckdb
import pytest

from tests.cli.command import sqlsvm

SHOP = """
    CREATE TABLE customers AS SELECT n AS id, 20 + n * 7 % 50 AS age FROM range(1, 41) AS g(n);
    CREATE TABLE orders AS SELECT n AS id, 1 + n * 7 % 40 AS customer_id, DATE '2024-01-01' + CAST(n % 90 AS INT)
        AS placed_on, n * 13 % 40 AS amount, n * n * 11 % 9 > 4 AS late FROM range(1, 401) AS g(n)
"""


@pytest.fixture
def shop(tmp_path):  # type: ignore[no-untyped-def]
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SHOP)
    return path


WANTED = ("--label", "late", "--time", "placed_on", "--windows", "20 days")


def test_it_prints_a_query(shop) -> None:  # type: ignore[no-untyped-def]
    done = sqlsvm("suggest", "--dsn", f"duckdb:{shop}", "--table", "orders", *WANTED)
    assert (done.returncode, done.stderr) == (0, "")
    with duckdb.connect(str(shop)) as connection:
        found = connection.execute(done.stdout)
        names = [column[0] for column in found.description]
        assert len(found.fetchall()) == 400
    assert {"late", "amount", "customers_age", "earlier_orders_mean_amount_20_days"} <= set(names)


def test_learn(shop, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """The model is kept, with its query, and its measures are those of evaluate."""
    options = ("--dsn", f"duckdb:{shop}", "--no-compare")
    how = ("--loss", "logistic", "--lambda", "0.1", "--json")
    done = sqlsvm("learn", *options, "--table", "orders", *WANTED[:-2], *how)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"earlier_orders_count", "customers_age"} <= {each["feature"] for each in found["features"]}
    evaluated = sqlsvm("evaluate", "model", *options[:2], "--json")
    measured = json.loads(evaluated.stdout)["holdout"]
    assert found["measures"]["sqlsvm"]["auc"] == measured["auc"]
    assert json.loads(sqlsvm("show", "model", *options[:2], "--json").stdout)["query"] == found["query"]
    shown = sqlsvm("learn", *options, "--table", "orders", *WANTED, "--lambda", "0.1", "--name", "late")
    assert "baseline  0.5000" in shown.stdout
    assert "all before placed_on" in shown.stdout
    assert "Proof: objective" in shown.stdout


def test_only_what_helps(shop, tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "late.json"
    options = ("--lambda", "0.1", "--l1", "0.02", "--nulls", "mean", "--model-file", str(file))
    done = sqlsvm("learn", "--dsn", f"duckdb:{shop}", "--table", "orders", *WANTED, *options, "--no-compare")
    assert done.returncode == 0, done.stderr
    whole = json.loads(file.read_text())
    shown = sqlsvm("show", "--model-file", str(file), "--sql")
    done = sqlsvm("train", "--dsn", f"duckdb:{shop}", "--query", shown.stdout, *WANTED[:2], *options)
    assert done.returncode == 0, done.stderr
    short = json.loads(file.read_text())
    assert 0 < short["features"] < whole["features"]
    assert {w["feature"] for w in short["weights"]} == {w["feature"] for w in whole["weights"] if w["weight"]}
    assert sqlsvm("show", "--model-file", str(file), "--sql", "--json").returncode == 2


TO_COME = ("--label-next", "orders", "--within", "20 days", "--every", "10 days", "--sum", "amount")


def test_a_label_to_come(shop, tmp_path) -> None:  # type: ignore[no-untyped-def]
    done = sqlsvm("suggest", "--dsn", f"duckdb:{shop}", "--table", "customers", *TO_COME, "--label", "spent")
    assert (done.returncode, done.stderr) == (0, "")
    with duckdb.connect(str(shop)) as connection:
        found = connection.execute(done.stdout)
        assert found.description[0][0] == "spent"
        rows = len(found.fetchall())
    file = tmp_path / "spent.json"
    options = ("--lambda", "0.1", "--model-file", str(file), "--no-compare", "--json")
    done = sqlsvm("learn", "--dsn", f"duckdb:{shop}", "--table", "customers", *TO_COME, *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["measures"]["sqlsvm"]["r2"] > 0.5
    model = json.loads(file.read_text())
    assert (model["label"], model["options"]["problem"]["loss"], model["options"]["gap"]) == (
        "label",
        "squared",
        "20 days",
    )
    assert model["join_rows"] < rows


def test_what_is_missing(shop) -> None:  # type: ignore[no-untyped-def]
    done = sqlsvm("learn", "--dsn", f"duckdb:{shop}", "--table", "orders", "--label", "late")
    assert done.returncode == 1
    assert "error: --time is missing\nHINT: --time COLUMN of orders" in done.stderr
    done = sqlsvm("learn", "--dsn", f"duckdb:{shop}", "--table", "orders", *WANTED, "--lambda", "0.1,0.2")
    assert "error: learn trains one model, and --lambda has several values" in done.stderr
    done = sqlsvm("suggest", "--dsn", f"duckdb:{shop}", "--table", "orders", *WANTED[:-1], "20 moons")
    assert "error: --windows: '20 moons' is no span\nHINT: write 30 days" in done.stderr
