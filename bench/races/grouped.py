"""GROUP BY over users, posts and badges, whose join is never made, next to the database's own GROUP BY.

`python -m bench.races.grouped [ROWS]`: in DuckDB, 1,000 users, and so many posts and badges, a million unless another
number is given. Their join has ROWS^2 / 1,000 rows.
"""

import sys
from time import perf_counter

import numpy as np
from sqlglot import exp, parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Rows, Sent, Text
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rows import render

USERS = 1_000
QUERY = """
SELECT u.gone, u.age, COUNT(*) AS n, AVG(p.score) AS score, SUM(b.class) AS class, SUM(p.score * b.class) AS both,
       MAX(b.class) FILTER (WHERE b.class < 3) AS top
FROM users u JOIN posts p ON p.owner = u.id JOIN badges b ON b.user_id = u.id GROUP BY u.id, u.gone, u.age"""


def build(engine: Engine, rows: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    users, age = np.arange(USERS), rng.integers(18, 90, USERS)
    for name, columns, values in (
        ("users", "id INT, age INT, gone BOOLEAN", {"id": users, "age": age, "gone": rng.random(USERS) < 0.3}),
        ("posts", "owner INT, score INT", {"owner": np.arange(rows) % USERS, "score": rng.integers(-9, 99, rows)}),
        ("badges", "user_id INT, class INT", {"user_id": np.arange(rows) % USERS, "class": rng.integers(1, 4, rows)}),
    ):
        engine.execute(Text(f"CREATE TABLE {name} ({columns})"))
        engine.copy_in(exp.to_table(name), values)


def timed(engine: Engine, query: Sent) -> tuple[float, Rows]:
    start = perf_counter()
    found = engine.fetch(query)
    return perf_counter() - start, found


def main(rows: int) -> None:
    with connect("duckdb:") as engine:
        build(engine, rows)
        start = perf_counter()
        folded = render(read_query(engine, QUERY))
        read = perf_counter() - start
        ours, found = timed(engine, folded)
        own, wanted = timed(engine, parse_one(QUERY, read="duckdb"))
        for name, values in found.items():
            one, other = (np.lexsort((r["age"], r["both"], r["n"])) for r in (found, wanted))
            assert np.allclose(values.astype(float)[one], wanted[name].astype(float)[other], rtol=1e-9), name
        print(f"{wanted['n'].sum():.3g} join rows, {len(wanted['n']):,} groups")
        print(f"the database's own GROUP BY  {own:8.3f} s")
        print(f"groups without the join      {ours:8.3f} s, and {read:.3f} s to read the query")
        print(f"ratio                        {own / ours:8.0f}, with the reading {own / (ours + read):.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
