"""Three tasks of RelBench on Formula 1: train on what was known before 2010, with everything chosen forward in time,
and measure on the races after it.

    git clone https://github.com/wobetec/f1-data-until-2022-ergast
    python -m bench.experiments.f1 f1-data-until-2022-ergast/data

The tasks are built from the raw files as RelBench defines them: whether a driver does not finish a race in the next 30
days, whether he is among the first three of a qualifying, and his mean position in the next 60 days. A row of a task is
a driver and a date; its features are what the files say up to that date, and no later than 2010.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import numpy as np

from sqlsvm import RelationalSVC, RelationalSVR
from sqlsvm.engine.given import opened
from sqlsvm.model.predict import input_rows
from sqlsvm.notebook.frames import frame
from sqlsvm.solve.calibration import ranks

VALIDATION, TEST = "DATE '2005-01-01'", "DATE '2010-01-01'"
FILES = "races", "results", "qualifying", "driver_standings", "constructor_standings"
GAP, SECONDS = 1e-3, 10.0

TABLES = """
CREATE TABLE race AS
    SELECT raceId, date + COALESCE(TRY_CAST(time AS TIME), TIME '00:00:00') AS date FROM races;
CREATE TABLE result AS
    SELECT r.driverId, r.constructorId, d.date, r.positionOrder, r.points, r.laps, TRY_CAST(r.grid AS DOUBLE) AS grid,
        CAST(r.statusId <> 1 AS INT) AS unfinished
    FROM results AS r JOIN race AS d ON d.raceId = r.raceId;
CREATE TABLE qualified AS
    SELECT q.driverId, q.constructorId, d.date - INTERVAL 1 DAY AS date, q.position
    FROM qualifying AS q JOIN race AS d ON d.raceId = q.raceId;
CREATE TABLE standing AS
    SELECT s.driverId, d.date, s.points, s.position, s.wins
    FROM driver_standings AS s JOIN race AS d ON d.raceId = s.raceId;
"""

TASK = """
CREATE OR REPLACE TABLE task AS
    WITH times AS (
        SELECT CAST({validation} - INTERVAL {days} DAY * i AS DATE) AS date FROM range(1, 4000) AS t(i)
        WHERE date >= (SELECT MIN(date) FROM races)
        UNION ALL SELECT CAST({validation} + INTERVAL {days} DAY * i AS DATE) AS date FROM range(0, 40) AS t(i)
        WHERE date <= {test} - INTERVAL {days} DAY
        UNION ALL SELECT CAST({test} + INTERVAL {days} DAY * i AS DATE) AS date FROM range(0, 40) AS t(i))
    SELECT t.date, r.driverId, {label} AS label
    FROM times AS t JOIN {table} AS r ON r.date > t.date AND r.date <= t.date + INTERVAL {days} DAY
    WHERE r.driverId IN (SELECT p.driverId FROM {table} AS p WHERE p.date > t.date - INTERVAL 1 YEAR)
    GROUP BY t.date, r.driverId
"""

PAST = """
    LEFT JOIN (
        SELECT t.date, t.driverId, {columns}
        FROM task AS t JOIN {table} AS r ON r.driverId = t.driverId AND r.date <= LEAST(t.date, {test})
        GROUP BY t.date, t.driverId) AS {name} ON {name}.date = t.date AND {name}.driverId = t.driverId"""
AGGREGATES = {
    "result": {
        "n": "COUNT(*)",
        "place": "AVG(r.positionOrder)",
        "best": "MIN(r.positionOrder)",
        "points": "AVG(r.points)",
        "grid": "AVG(r.grid)",
        "unfinished": "AVG(r.unfinished)",
        "laps": "AVG(r.laps)",
        "last": "MAX_BY(r.positionOrder, r.date)",
        "last_grid": "MAX_BY(r.grid, r.date)",
    },
    "qualified": {
        "n": "COUNT(*)",
        "place": "AVG(r.position)",
        "best": "MIN(r.position)",
        "front": "AVG(CAST(r.position <= 3 AS INT))",
        "last": "MAX_BY(r.position, r.date)",
    },
    "standing": {
        "points": "MAX_BY(r.points, r.date)",
        "place": "MAX_BY(r.position, r.date)",
        "wins": "MAX_BY(r.wins, r.date)",
    },
}


@dataclass(frozen=True)
class Task:
    label: str
    table: str
    days: int
    measure: str
    wanted: float
    published: str


TASKS = {
    "driver-dnf": Task("MAX(r.unfinished) = 1", "result", 30, "AUC", 0.69, ".698, network .726"),
    "driver-top3": Task("MIN(r.position) <= 3", "qualified", 30, "AUC", 0.81, ".824, network .755"),
    "driver-position": Task("AVG(r.positionOrder)", "result", 60, "MAE", 4.0, "3.963, network 4.022"),
}


def query() -> str:
    """One row for each row of the task."""
    outputs, joins = [], []
    for table, columns in AGGREGATES.items():
        made = ", ".join(f"{value} AS {column}" for column, value in columns.items())
        joins.append(PAST.format(columns=made, table=table, name=f"{table}_past", test=TEST))
        outputs += [f"{table}_past.{column} AS {table}_{column}" for column in columns]
    return f"SELECT t.label, t.date, {', '.join(outputs)} FROM task AS t {''.join(joins)}"


def auc(scores: Any, positive: Any) -> float:
    below, _ = ranks(scores, 1.0 - positive, positive)
    return float(positive @ below / (positive.sum() * (1.0 - positive).sum()))


def on_later_rows(model: Any, con: duckdb.DuckDBPyConnection, dated: str, is_class: bool) -> tuple[float, float]:
    """Train on the rows before the test, of a query that ends with their date: AUC, or the mean absolute error, of the
    rows after it, and the seconds of the training."""
    began = perf_counter()
    model.fit(con, f"{dated} < {TEST}", "label")
    seconds = perf_counter() - began
    with opened(con) as engine:
        later = frame(engine.fetch(input_rows(engine, f"{dated} >= {TEST}")), "pandas")
    scores = np.asarray(model.decision_function(later) if is_class else model.predict(later), dtype=float)
    label = later["label"].to_numpy().astype(float)
    return auc(scores, label) if is_class else float(np.abs(label - scores).mean()), seconds


def measured(con: duckdb.DuckDBPyConnection, name: str, task: Task, forward: bool) -> None:
    con.execute(TASK.format(**vars(task), validation=VALIDATION, test=TEST))
    text = query()
    is_class, when = task.measure == "AUC", "date" if forward else None
    if is_class:
        model: Any = RelationalSVC("auto", loss="auto", time=when, nulls="mean", verbose=False)
    else:
        model = RelationalSVR("auto", loss="absolute", time=when, nulls="mean", verbose=False)
    found, seconds = on_later_rows(model, con, f"{text} WHERE t.date", is_class)
    met = found >= task.wanted if is_class else found <= task.wanted
    kept = "met" if met and seconds <= SECONDS and model.gap_ <= GAP else "MISSED"
    chosen = model.model_.chosen
    print(f"{name:16} {task.measure} {found:.3f}  {kept} ({task.wanted:g})  published {task.published}")
    said = f"lambda {model.model_.lam:g}, {model.model_.loss}"
    print(f"{'':16} {said}: {chosen.measure} {chosen.best.mean:.3f}, {chosen.split}")
    print(f"{'':16} gap {model.gap_:.1g}, {seconds:.1f} s, of which {model.model_.phases['choosing']:.1f} s to choose")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the CSV files are")
    con = duckdb.connect()
    folder = parser.parse_args().folder
    for file in FILES:
        con.execute(f"CREATE TABLE {file} AS FROM read_csv('{folder / file}.csv', nullstr='\\N')")
    con.execute(TABLES)
    for forward in (True, False):
        print("--time date" if forward else "parts at random")
        for name, task in TASKS.items():
            measured(con, name, task, forward)


if __name__ == "__main__":
    main()
