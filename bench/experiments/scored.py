"""A million rows scored in psql: by the view of score_view, by the stored expression in a SELECT, and row by row.

    python -m bench.experiments.scored --dsn URL [--rows 1000000] [--times 7]

The two forms take turns, and the smallest time of each counts.
"""

import json
import time
from argparse import ArgumentParser

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.psql.install import install
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store

ROWS = """
    CREATE TABLE public.scored_rows AS SELECT n % 97 AS a, n % 31 * 0.5e0 AS b, n % 7 < 3 AS c, 'k' || n % 12 AS d,
        'v' || n % 40 AS e, sqrt(n) AS f, n % 2 = 0 OR n % 97 < 40 AS y FROM generate_series(1, {rows}) AS g(n)"""
BY_ROW = 2000


def seconds(engine: Engine, text: str) -> float:
    begun = time.perf_counter()
    engine.fetch(Text(text))
    return time.perf_counter() - begun


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=7)
    given = parser.parse_args()
    with connect(given.dsn) as engine:
        install(engine)
        engine.execute(Text(ROWS.format(rows=given.rows)))
        engine.execute(Text("ANALYZE public.scored_rows"))
        query = "SELECT a, b, c, d, e, f, y FROM public.scored_rows"
        open_store(engine).save(train(engine, "scored", query, Training.of(label="y", lam=1e-3, tol=1e-2)))
        engine.fetch(Text("SELECT sqlsvm.score_view('scored', 'public.scored_rows', 'scored_view') AS v"))
        (plain,) = engine.fetch(Text("SELECT sqlsvm.score_sql('scored') AS s"))["s"]
        row = "sqlsvm.decision_function('scored', to_jsonb(r))"
        texts = {
            "view": "SELECT sum(score) AS s FROM pg_temp.scored_view",
            "expression": f"SELECT sum({plain}) AS s FROM public.scored_rows",
        }
        found = {
            name: min(times)
            for name, times in zip(
                texts,
                zip(*([seconds(engine, text) for text in texts.values()] for _ in range(given.times)), strict=True),
                strict=True,
            )
        }
        by_row = (
            seconds(engine, f"SELECT sum({row}) AS s FROM (SELECT * FROM public.scored_rows LIMIT {BY_ROW}) AS r")
            / BY_ROW
        )
        print(
            json.dumps(
                {"rows": given.rows, **found, "share": found["view"] / found["expression"], "ms a row": 1e3 * by_row}
            )
        )


if __name__ == "__main__":
    main()
