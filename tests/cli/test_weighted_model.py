"""A model trained with --weight knows what its rows weigh, not how many they are. No verb takes one for the other."""

import json
from pathlib import Path

import pytest
from sqlglot import parse_one

from sqlsvm.engine import connect
from sqlsvm.model.weights import Weight
from sqlsvm.store import open_store
from tests.cli.command import answer, complaint
from tests.cli.test_train_command import ROWS, filled, train
from tests.ground.models import model
from tests.typed import asked, typed

QUERY = "SELECT a.y, a.x, b.z, (a.x * a.x + 1) / 8.0 AS w FROM a JOIN b ON a.k = b.k"


@pytest.fixture(params=["postgres", "duckdb"])
def dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with the tables of `filled`."""
    duckdb = request.param == "duckdb"
    return filled(f"duckdb:{tmp_path / 'x.duckdb'}" if duckdb else request.getfixturevalue("postgres_dsn"))


def weights(dsn: str) -> tuple[float, float]:
    """What the rows of each class weigh, from the rows themselves."""
    with connect(dsn) as engine:
        rows = asked(engine, parse_one(QUERY, read=engine.dialect))
    assert len(rows["y"]) == ROWS
    positive, w = rows["y"].astype(bool), rows["w"].astype(float)
    return float(w[~positive].sum()), float(w[positive].sum())


@pytest.mark.slow
def test_wherever_it_is_shown(dsn: str, tmp_path: Path) -> None:
    negative, positive = weights(dsn)
    total, parts = f"rows of total weight {negative + positive:.4g}", (f"{negative:.4g}", f"{positive:.4g}")
    given = ("--weight", "w", "--lambda", 0.01)
    assert f"join          {total}, with 2 features; small, so" in train(dsn, *given, query=QUERY).stdout
    assert train(dsn, "--lambda", 0.01, query=QUERY).returncode == 0
    plain, weighted = answer("models", "--dsn", dsn).splitlines()[1:]
    assert f" {ROWS} " in plain
    assert f" {total.removeprefix('rows of ')} " in weighted
    assert [m["weighted"] for m in json.loads(answer("models", "--dsn", dsn, "--json"))["models"]] == [False, True]
    first = ("--dsn", dsn, "--version", 1)
    shown = f"join          {total}: {parts[0]} -1 (53 %), {parts[1]} +1 (47 %)\n"
    assert shown in answer("show", *first)
    of, _, titles, *classes = answer("evaluate", *first).splitlines()[:5]
    assert of == "the rows that it was trained on"
    assert titles.split()[:2] == ["y", "weight"]
    assert [line.split()[1] for line in classes] == list(parts)
    page = tmp_path / "report.html"
    answer("report", *first, "-o", page)
    said = page.read_text(encoding="utf-8")
    for part in (
        f"proven over all {total} of a small join",
        "total weight of the rows",
        f"trained on rows of total weight {parts[0]} with y = ",
        f"The join has {ROWS} rows now.",
        f"Counted over all {total} that the query has now",
        "by the weight of rows of the join",
    ):
        assert part in said, part
    assert "as one table" not in said


@pytest.mark.parametrize(("times", "weight", "refused"), [(4000, 1e-9, True), (4, 1e12, False)])
def test_a_large_join_is_one_of_many_rows(tmp_path: Path, times: int, weight: float, refused: bool) -> None:
    """The number of rows decides, not their weights."""
    dsn = f"duckdb:{tmp_path / 'x.duckdb'}"
    query = f"SELECT a.late, a.distance, b.distance * {weight!r} AS w FROM a CROSS JOIN b"
    with connect(dsn) as engine:
        rows = f"SELECT i > 1 AS late, i AS distance FROM GENERATE_SERIES(1, {times}) AS r(i)"
        for name in ("a", "b"):
            typed(engine, parse_one(f"CREATE TABLE {name} AS {rows}", read="postgres"))
        asked = {"problem": {"weight": "w"}}
        distance = Weight("distance", None, 1e-3, 0.7)
        open_store(engine).save(model(query=query, join_rows=times**3 * weight, weights=(distance,), options=asked))
    if refused:
        assert "the query of late has 16,000,000 rows, and" in complaint("predict", "--dsn", dsn)
    else:
        assert len(answer("predict", "--dsn", dsn).splitlines()) == 1 + times**2
