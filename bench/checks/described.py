"""`describe`, `components` and `inspect --heavy` next to the rows of the join, on random databases:
python -m bench.checks.described [URL FIRST LAST [offload]]

A share of them has LEFT JOINs, NULLs, cycles, views and odd names. Every figure is compared, and the components with
those of scikit-learn: see tests/ground. `inspect` does not offload.
"""

import sys
from time import perf_counter

import numpy as np

from sqlsvm.engine import connect
from tests.ground.described import compared, compared_components, compared_heavy
from tests.ground.schemas import random_world


def main(url: str = "duckdb:", first: str = "0", last: str = "300", offload: str = "") -> None:
    began, rows, largest, edges, components = perf_counter(), 0.0, 0.0, 0, 0
    with connect(url) as engine:
        for seed in range(int(first), int(last)):
            with random_world(np.random.default_rng(seed), max_relations=4).created(engine) as live:
                found = compared(engine, live, offload=bool(offload))
                for scale in ("standard", "none"):
                    components += compared_components(engine, live, scale, offload=bool(offload))
                edges += 0 if offload else compared_heavy(engine, live)
            rows, largest = rows + found.rows, max(largest, found.rows)
    count = int(last) - int(first)
    print(f"{count} databases, {rows:,.0f} join rows, at most {largest:,.0f}; {components} components next to", end=" ")
    print(f"scikit-learn's, {edges} edges with heavy keys; {perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:5])
