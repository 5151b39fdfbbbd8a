"""The covariance of the chain of 10^9 join rows, and its columns: python -m bench.experiments.covariance [URL]"""

import sys
from time import perf_counter

from bench.races.tasks import load, parsed, task, unload
from sqlsvm.ask.describe import describe
from sqlsvm.engine import connect
from sqlsvm.run.components import components

TURNS = 3


def main(url: str = "duckdb:") -> None:
    found = task("chain")
    tables = found.tables()
    with connect(url) as engine:
        load(engine, tables)
        try:
            text = parsed(found, engine).sql(engine.dialect)
            for _ in range(TURNS):
                began = perf_counter()
                rows = components(engine, text, label="y").rows
                middle = perf_counter()
                describe(engine, text, label="y")
                spent = middle - began, perf_counter() - middle
                print(f"{rows:.3g} join rows: components {spent[0]:.2f} s, describe {spent[1]:.2f} s")
        finally:
            unload(engine, tables)


if __name__ == "__main__":
    main(*sys.argv[1:2])
