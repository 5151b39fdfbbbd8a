"""Invents a hospital and puts it into a database: python load.py --dsn embedded:hospital

What decides whether a patient comes back within a month, u being logistic noise:

    readmitted  <=>  -1 + 2 illness + 0.5 [emergency] + 0.02 (age - 65) - 4 [more than three weeks] + u  >  0

Illness is in no table. It shows in what is written down of a patient: the kinds of diagnoses and drugs, the blood, the
pulse. Those who stay for weeks are the sickest, but they go on to a nursing home, and seldom come back.
"""

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sqlglot import exp, parse

from sqlsvm import sql
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Rows, Values

HERE = Path(__file__).parent
WEEKS = 21.0

CHAPTERS = {"heart": 0.7, "kidney": 0.6, "lung": 0.3, "injury": -0.6, "birth": -0.9, "other": 0.0}
DRUGS = {"diuretic": 0.8, "insulin": 0.4, "anticoagulant": 0.3, "antibiotic": 0.0, "painkiller": -0.5, "vitamin": -0.4}
"""How much more often a sick patient has it."""


def main() -> None:
    parser = ArgumentParser(description="Invent a hospital and put it into a database.")
    parser.add_argument("--dsn", required=True, help="embedded:hospital, postgresql://... or duckdb:hospital.duckdb")
    parser.add_argument("--stays", type=int, default=5000, help="how many stays to invent")
    given = parser.parse_args()
    with connect(given.dsn) as engine:
        for table, rows in load(engine, given.stays).items():
            print(f"{table:13} {rows:7,} rows")


def load(engine: Engine, stays: int = 5000) -> dict[str, int]:
    """Make the tables and fill them; the number of rows of each."""
    for statement in parse((HERE / "tables.sql").read_text(encoding="utf-8"), read="postgres"):
        assert statement is not None
        engine.execute(engine.placed(statement))
    tables = hospital(stays)
    for name, columns in tables.items():
        engine.copy_in(engine.placed(exp.to_table(name)), columns)
        engine.execute(engine.placed(sql.analyse(name)))
    return {name: len(next(iter(columns.values()))) for name, columns in tables.items()}


def hospital(stays: int, seed: int = 0) -> dict[str, Rows]:
    """The tables, by name: the same ones every time. Most patients stay for a few days, a few for months."""
    rng = np.random.default_rng(seed)
    illness = rng.normal(size=stays)
    days = np.exp(rng.normal(0.9 + 0.5 * illness, 1.0)).clip(1, 180)
    age = np.round(np.clip(rng.normal(60, 16, stays), 18, 98))
    emergency = rng.random(stays) < 0.4
    tilt = -1 + 2 * illness + 0.5 * emergency + 0.02 * (age - 65) - 4 * (days > WEEKS)
    id = np.arange(1, stays + 1)

    def written(rate: float) -> Values:
        """The stay of each row of a table that grows by so many rows a day."""
        rows: Values = np.repeat(id, 1 + rng.poisson(rate * days))
        return rows

    def noted(of: Values, mean: float, slope: float, spread: float) -> Values:
        values: Values = np.round(mean + slope * illness[of - 1] + spread * rng.normal(size=len(of)), 1)
        return values

    ill, drugged, bled, felt = written(0.5), written(0.8), written(1.0), written(1.5)
    return {
        "stays": {"id": id, "age": age, "emergency": emergency, "readmitted": tilt + rng.logistic(size=stays) > 0},
        "diagnoses": {"stay": ill, "chapter": _picked(rng, CHAPTERS, illness[ill - 1])},
        "prescriptions": {"stay": drugged, "drug": _picked(rng, DRUGS, illness[drugged - 1])},
        "panels": {
            "stay": bled,
            "creatinine": noted(bled, 95, 15, 25),
            "haemoglobin": noted(bled, 13, -0.8, 1.5),
            "sodium": noted(bled, 140, 0, 3),
        },
        "vitals": {"stay": felt, "pulse": noted(felt, 78, 4, 12), "temperature": noted(felt, 37, 0.1, 0.5)},
    }


def _picked(rng: np.random.Generator, leanings: Mapping[str, float], illness: Values) -> Values:
    """One name a row, the likelier the more it leans to a patient as ill: the largest of Gumbel variables."""
    leaning = np.array(list(leanings.values()))
    places = np.argmax(illness[:, None] * leaning + rng.gumbel(size=(len(illness), len(leaning))), axis=1)
    picked: Values = np.array(list(leanings))[places]
    return picked


if __name__ == "__main__":
    main()
