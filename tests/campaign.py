"""`python -m tests.campaign RUNS FIRST`: random trainings in DuckDB, each checked on all rows of its join.

Ctrl-C ends it with the counts so far."""

import sys
import traceback
from collections import Counter

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from tests.ground.campaign import Case, drawn, run


def main(runs: int, first: int) -> int:
    engine, counts = connect("duckdb:"), Counter[str]()
    try:
        for seed in range(first, first + runs):
            case = drawn(seed)
            found = one(engine, case)
            counts[found] += 1
            if found == "failed":
                engine.close()
                engine = connect("duckdb:")
    except KeyboardInterrupt:
        print("interrupted")
    for name, number in counts.most_common():
        print(f"{number:6}  {name}")
    return int(counts["failed"] > 0)


def one(engine: Engine, case: Case) -> str:
    try:
        found = run(engine, case)
    except Exception as error:
        print(f"seed {case.seed}: {error!r}\n{case.options}\n{case.join.query}")
        traceback.print_exc(limit=-3, file=sys.stdout)
        return "failed"
    if found.refused:
        return "refused"
    if found.converged:
        return "converged"
    print(f"seed {case.seed}: gap {found.gap:.2g} after {found.passes} passes: {case.shape} {case.options}")
    ordinary = case.options["scale"] == "standard" and case.options["intercept"]
    return "not converged" if ordinary else "not converged, and not centred: --scale none or maxabs, or no intercept"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
