"""Dates, times and intervals as features and as a label: the numbers that the materialised join has."""

from datetime import date
from io import StringIO
from math import tau
from typing import cast

import numpy as np
import pandas as pd
import pytest

from sqlsvm import sql
from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.errors import SqlsvmError
from sqlsvm.maps.asked import Asked, OfJoin
from sqlsvm.maps.kinds import dates
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.model.to_sklearn import pipeline
from sqlsvm.query.read_query import read_query
from sqlsvm.run.train import train
from sqlsvm.show.models import draw_weights
from sqlsvm.store import open_store
from tests.evaluating import evaluate_model
from tests.ground.opened import Wish, truth
from tests.ground.trained import assert_proven, training
from tests.typed import asked, look_in, run

pytestmark = pytest.mark.twin

TIMES = "d date, at timestamp, z timestamptz, t time, i interval"
FROM = "FROM f JOIN a ON a.k = f.k JOIN v ON v.k = f.k"
QUERY = f"SELECT f.y, f.d, f.at, f.z, f.t, f.i, f.d - a.d AS days, f.at - a.at AS age, v.d AS seen {FROM}"
DAYS = "CAST(EXTRACT(EPOCH FROM {}) AS double precision) / 86400"
SECONDS = "CAST(EXTRACT(EPOCH FROM {}) AS double precision)"
"""What it means, in the words of the user."""
PLAIN = (
    f"SELECT f.y, {DAYS.format('f.d')} AS d, {DAYS.format('f.at')} AS at, {DAYS.format('f.z')} AS z, "
    f"{SECONDS.format('f.t')} AS t, {SECONDS.format('f.i')} AS i, f.d - a.d AS days, "
    f"{SECONDS.format('(f.at - a.at)')} AS age, {DAYS.format('v.d')} AS seen {FROM}"
)
ROWS = 60


def moment(n: int) -> str:
    """One in the hour that clocks skip, one before 1970, and others."""
    year, month, day = (2021, 3, 28) if n == 7 else (1961 + n, 1 + n % 12, 1 + n * 5 % 28)
    return f"{year}-{month:02}-{day:02} {n * 7 % 24:02}:{n * 11 % 60:02}:{n * 13 % 60:02}.{n * 17171 % 1000000:06}"


def row(n: int) -> str:
    at = moment(n)
    own = f"DATE '{at[:10]}', TIMESTAMP '{at}', TIMESTAMPTZ '{at}+05:30', TIME '{at[11:]}', INTERVAL '{n} hours'"
    return f"({n % 5}, {n * n % 7 < 3}, {own})"


def made(engine: Engine) -> None:
    run(engine, f"CREATE TABLE f (k integer, y boolean, {TIMES})")
    run(engine, "CREATE TABLE a (k integer PRIMARY KEY, d date, at timestamp)")
    run(engine, "CREATE TABLE v (k integer, d date)")
    run(engine, f"INSERT INTO f VALUES {', '.join(map(row, range(ROWS)))}")
    run(engine, "INSERT INTO a SELECT k, MIN(d), MIN(at) FROM f GROUP BY k")
    run(engine, "INSERT INTO v SELECT k, d FROM f WHERE i < INTERVAL '30 hours'")


def scored(engine: Engine, model: Model, rows: str | None = None) -> list[float]:
    found = sql.select([(sql.column("score"), "score")], sql.derived(predict(engine, model, rows), "p"))
    return list(map(float, engine.fetch(found)["score"]))


@pytest.fixture
def tables(engine: Engine) -> Engine:
    made(engine)
    return engine


@pytest.mark.slow
def test_their_numbers(tables: Engine) -> None:
    model = train(tables, "m", QUERY, training(in_memory=0))
    assert_proven(tables, model, truth(tables, PLAIN, Wish(scale="standard")))
    plain = train(tables, "m", PLAIN, training(in_memory=0))
    assert list(model.weights.values) == pytest.approx(list(plain.weights.values), rel=1e-9)
    times = {"d": "date", "at": "timestamp", "z": "timestamptz", "t": "time", "i": "interval", "seen": "date"}
    assert dict(model.trained_on.times) == times | {"age": "interval"}
    assert "d is a number: days since 1970-01-01" in model.notes
    assert evaluate_model(tables, model).as_json() == evaluate_model(tables, plain).as_json()
    ours, theirs = (sorted(scored(tables, m)) for m in (model, plain))
    assert ours == pytest.approx(theirs, rel=1e-12)


ODD = (("'infinity'", "NaN or infinite|infinite"), ("NULL", "NULL"))


@pytest.mark.parametrize(("value", "said"), ODD)
def test_a_date_that_is_no_number(tables: Engine, value: str, said: str) -> None:
    """The epoch of an infinite date is NULL in DuckDB: it must not count as a missing one."""
    run(tables, f"UPDATE f SET d = {value} WHERE i = INTERVAL '3 hours'")
    with pytest.raises(SqlsvmError, match=said):
        train(tables, "m", f"SELECT f.y, f.d {FROM}", training(nulls="error"))
    if value != "NULL":
        with pytest.raises(SqlsvmError, match=said):
            train(tables, "m", f"SELECT f.y, f.d {FROM}", training(nulls="mean"))


def test_no_zone_of_the_session(tables: Engine) -> None:
    model = train(tables, "m", f"SELECT f.y, f.z {FROM}", training())
    run(tables, "SET TimeZone = 'Asia/Kolkata'")
    there = train(tables, "m", f"SELECT f.y, f.z {FROM}", training())
    assert (model.weights.values == there.weights.values).all()


def test_a_date_as_the_label(tables: Engine) -> None:
    dated, plain = (
        train(tables, "m", f"SELECT {label} AS y, f.t, a.d {FROM}", training(loss="absolute"))
        for label in ("f.d", DAYS.format("f.d"))
    )
    assert dated.trained_on.times == {"y": "date", "t": "time", "d": "date"}
    assert list(dated.weights.values) == pytest.approx(list(plain.weights.values), rel=1e-9)
    assert sorted(scored(tables, dated)) == pytest.approx(sorted(scored(tables, plain)), rel=1e-12)


def test_what_returns_in_a_date(tables: Engine) -> None:
    """As the engine itself says hour, weekday, month and day."""
    values = "1, y, DATE '0004-02-29', TIMESTAMP '2000-02-29 23:00:00', z, t, i"
    run(tables, f"INSERT INTO f SELECT {values} FROM f WHERE i < INTERVAL '3 hours'")
    query = read_query(tables, f"SELECT f.y, f.at {FROM}", label="y")
    map = dates(Asked(tables, query, 0, "date:at", cast(OfJoin, None)))
    parts = ("EPOCH", "HOUR", "DOW", "MONTH", "YEAR", "DAY")
    own = ", ".join(f"CAST(EXTRACT({part} FROM f.at) AS double precision) AS {part.lower()}" for part in parts)
    found = asked(tables, f"SELECT {own} FROM f")
    made = map.values([found["epoch"] / 86400])
    angle = {
        name: np.arctan2(made[f"at_{name}_sin"], made[f"at_{name}_cos"]) for name in ("hour", "weekday", "month", "day")
    }
    assert (np.floor(angle["hour"] % tau * 24 / tau + 1e-9) == found["hour"]).all()
    assert (np.round(angle["weekday"] % tau * 7 / tau) % 7 == found["dow"]).all()
    assert (made["at_weekend"] == np.isin(found["dow"], (0, 6))).all()
    assert ((np.round(angle["month"] % tau * 12 / tau) + 2) % 12 + 1 == found["month"]).all()
    since = [date(2000 + (m > 2) - 1, 3, 1) for m in found["month"]]
    days = [
        (date(2000, int(m), int(d)) - first).days
        for m, d, first in zip(found["month"], found["day"], since, strict=True)
    ]
    assert (np.round(angle["day"] % tau * 365.25 / tau) % 366 == days).all()
    model = train(tables, "m", f"SELECT f.y, f.at {FROM}", training(map=("date:at",)))
    assert len(model.weights) == 10
    rows = {"at": asked(tables, "SELECT CAST(f.at AS text) AS at FROM f WHERE k = 1 ORDER BY f.at")["at"]}
    assert scores(model, rows).tolist() == pytest.approx(
        scored(tables, model, "SELECT f.at FROM f WHERE k = 1 ORDER BY f.at"), rel=1e-9
    )


def test_rows_in_memory(duckdb: Engine) -> None:
    """In a frame, in scikit-learn and on paper."""
    made(duckdb)
    text = f"SELECT f.y, f.d, f.at, f.t, f.i, f.at - a.at AS age {FROM}"
    model = train(duckdb, "m", text, training())
    rows = pd.DataFrame(duckdb.fetch(predict(duckdb, model)))
    assert scores(model, rows).tolist() == rows["score"].tolist()
    found = pipeline(model).decision_function(rows[["d", "at", "t", "i", "age"]])
    assert found.tolist() == pytest.approx(rows["score"].tolist(), rel=1e-12)
    zoned = train(duckdb, "m", f"SELECT f.y, f.z {FROM}", training(map=("spline:z:4",)))
    texts = {"z": ["2020-01-02 03:04:05+02", "2020-01-02 01:04:05+00:00"]}
    first, second = scores(zoned, texts).tolist()
    assert first == second
    assert pipeline(zoned).decision_function(pd.DataFrame(texts)).tolist() == pytest.approx([first, second], rel=1e-12)
    assert "per day" in draw_weights(model, None, StringIO())


def test_psql_takes_dates(installed: Engine) -> None:
    """The same score from a JSON object and from columns. No zone of a session counts."""
    run(installed, "CREATE SCHEMA dated; SET search_path = dated")
    look_in(installed, "dated")
    made(installed)
    try:
        model = train(installed, "dated", QUERY, training(in_memory=0, map=("date:at",), max_passes=3))
        open_store(installed).save(model)
        expected = pytest.approx(sorted(scored(installed, model)), rel=1e-12)
        run(installed, "SET TimeZone = 'Asia/Kolkata'")
        asks = f"SELECT sqlsvm.decision_function('dated', {{}}) AS score FROM ({QUERY}) AS r"
        found = asked(installed, asks.format("to_jsonb(r)"))["score"]
        assert sorted(map(float, found)) == expected
        (text,) = asked(installed, "SELECT sqlsvm.score_sql('dated') AS s")["s"]
        found = asked(installed, f"SELECT {text} AS score FROM ({QUERY}) AS r")["score"]
        assert sorted(map(float, found)) == expected
        with pytest.raises(StatementError, match='feature "d" has the value 5, which is no date'):
            asked(installed, asks.format("to_jsonb(r) || '{\"d\": 5}'"))
    finally:
        run(installed, "RESET TimeZone; DROP SCHEMA dated CASCADE")


@pytest.mark.twin(False)
def test_the_zone_of_the_session_is_a_part_of_the_model(engine: Engine) -> None:
    """The hour of an instant depends on it, so each later session takes that of the model."""
    at = "TIMESTAMPTZ '2024-01-01 00:00:00+00' + n * INTERVAL '1 hour'"
    rows = f"SELECT {at} AS at, n % 24 AS h FROM GENERATE_SERIES(0, 239) AS r(n)"
    run(engine, f"CREATE TABLE g AS {rows}")
    engine.in_zone("Asia/Tokyo")
    text = "SELECT h < 12 AS y, EXTRACT(HOUR FROM at) AS hour FROM g"
    model = train(engine, "m", text, training(lam=1e-3))
    there = evaluate_model(engine, model)
    assert model.trained_on.zone == "Asia/Tokyo"
    engine.in_zone("UTC")
    assert evaluate_model(engine, model) == there
    assert engine.zone == "Asia/Tokyo"
