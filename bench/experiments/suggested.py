"""Suggested queries on Formula 1: three tasks of RelBench from the raw files, with no query written by hand.

    git clone https://github.com/wobetec/f1-data-until-2022-ergast
    python -m bench.experiments.suggested f1-data-until-2022-ergast/data

A row of a task is a driver and a time, as f1.py makes them. Nothing of the races from 2010 on is in the tables,
so the rows that are measured know no more than that. With featuretools in the environment its aggregates of the same
tables are timed next to the history, over all the past and over a year.
"""

import argparse
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import duckdb

from bench.experiments.f1 import TABLES, TASK, TASKS, TEST, VALIDATION, Task, on_later_rows
from sqlsvm.engine.given import opened
from sqlsvm.model.predict import input_rows
from sqlsvm.suggestion.suggest import Wanted, suggest

FILES = (
    *("races", "results", "qualifying", "driver_standings", "constructor_standings", "constructor_results", "drivers"),
    *("constructors", "circuits", "status", "sprint_results", "pit_stops"),
)
OF_RACES = (
    *("results", "qualifying", "driver_standings", "constructor_standings", "constructor_results", "sprint_results"),
    *("pit_stops", "races"),
)
WANTED = {"driver-dnf": 0.72, "driver-top3": 0.84, "driver-position": 4.1}


def known_before(con: duckdb.DuckDBPyConnection, folder: Path, task: Task) -> None:
    """The raw tables up to 2010, and the task."""
    for file in FILES:
        con.execute(f"CREATE OR REPLACE TABLE {file} AS FROM read_csv('{folder / file}.csv', nullstr='\\N')")
    con.execute(TABLES)
    con.execute(TASK.format(**vars(task), validation=VALIDATION, test=TEST))
    for made in ("race", "result", "qualified", "standing"):
        con.execute(f"DROP TABLE {made}")
    con.execute(f"UPDATE task SET date = LEAST(date, {TEST})")
    for table in OF_RACES:
        con.execute(f"DELETE FROM {table} WHERE raceId IN (SELECT raceId FROM races WHERE date >= {TEST})")


def measured(con: duckdb.DuckDBPyConnection, name: str, task: Task, lam: Any) -> None:
    from sqlsvm import RelationalSVC, RelationalSVR

    with opened(con) as engine:
        query = suggest(engine, Wanted("task", "label", "date")).query
    is_class = task.measure == "AUC"
    kind: Any = RelationalSVC if is_class else RelationalSVR
    loss = "logistic" if is_class else "squared"
    model = kind(lam, loss=loss, time="date" if lam == "auto" else None, nulls="mean", verbose=False)
    found, seconds = on_later_rows(model, con, f"{query} WHERE task.date", is_class)
    met = found >= WANTED[name] if is_class else found <= WANTED[name]
    said = "met" if met and model.gap_ <= 1e-3 else "MISSED"
    print(f"{name:16} {task.measure} {found:.3f}  {said} ({WANTED[name]:g})  gap {model.gap_:.1g}, {seconds:.1f} s")


def history(con: duckdb.DuckDBPyConnection) -> float:
    """The CPU seconds in which the database makes all features."""
    with opened(con) as engine:
        began = process_time()
        query = input_rows(engine, suggest(engine, Wanted("task", "label", "date")).query).sql(engine.dialect)
    con.execute(f"CREATE OR REPLACE TEMP TABLE made AS {query}")
    seconds = process_time() - began
    columns = con.execute("SELECT COUNT(*) FROM duckdb_columns() WHERE table_name = 'made'").fetchall()[0][0]
    print(f"{'':16} {columns - 1} features in {seconds:.2f} s of CPU")
    return seconds


def of_featuretools(con: duckdb.DuckDBPyConnection) -> float:
    """The same aggregates of the same tables of a driver, and their CPU seconds."""
    import pandas as pd

    featuretools = import_module("featuretools")  # it is in no extra
    entities = featuretools.EntitySet("f1")
    drivers = con.execute("SELECT driverId FROM drivers").df()
    entities = entities.add_dataframe(drivers, "drivers", index="driverId")
    for table in ("results", "qualifying", "driver_standings"):
        rows = con.execute(f"SELECT t.*, r.date AS held FROM {table} AS t JOIN races AS r USING (raceId)").df()
        rows = rows.select_dtypes(["number", "datetime"]).drop(columns=["raceId"])
        rows["held"] = pd.to_datetime(rows["held"])
        entities = entities.add_dataframe(rows, table, make_index=True, index=f"{table}_row", time_index="held")
        entities = entities.add_relationship("drivers", "driverId", table, "driverId")
    entities.add_last_time_indexes()
    times = con.execute("SELECT DISTINCT driverId, CAST(date AS TIMESTAMP) AS time FROM task").df()
    began, features = process_time(), 0
    for window in (None, "365 days"):
        made, _ = featuretools.dfs(
            entityset=entities,
            target_dataframe_name="drivers",
            cutoff_time=times,
            training_window=window,
            agg_primitives=[
                "count",
                "mean",
                "min",
                "max",
                "std",
                *(["last", "trend", "time_since_last"] if not window else []),
            ],
            trans_primitives=[],
            max_depth=1,
        )
        features += made.shape[1]
    seconds = process_time() - began
    print(f"{'':16} featuretools: {features} features in {seconds:.2f} s of CPU")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the CSV files are")
    parser.add_argument("--lam", default="auto", help="a strength of the penalty, in place of the one that is chosen")
    parser.add_argument("--task", choices=list(TASKS), help="only this one")
    parser.add_argument("--untrained", action="store_true", help="only time the history")
    asked = parser.parse_args()
    for name, task in TASKS.items():
        if asked.task in (None, name):
            con = duckdb.connect()
            known_before(con, asked.folder, task)
            if not asked.untrained:
                measured(con, name, task, asked.lam if asked.lam == "auto" else float(asked.lam))
            seconds = history(con)
            if find_spec("featuretools"):
                print(f"{'':16} {of_featuretools(con) / seconds:.0f} times as long")


if __name__ == "__main__":
    main()
