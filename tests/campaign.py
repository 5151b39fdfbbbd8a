"""`python -m tests.campaign RUNS FIRST`: random trainings in DuckDB, each checked on all rows of its join."""

import sys
import traceback
from collections import Counter

from sqlsvm.engine import connect
from tests.ground.campaign import drawn, run


def main(runs: int, first: int) -> int:
    engine, counts, failed = connect("duckdb:"), Counter[str](), 0
    for seed in range(first, first + runs):
        case = drawn(seed)
        try:
            found = run(engine, case)
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {error!r}\n{case.options}\n{case.join.query}")
            traceback.print_exc(limit=-3, file=sys.stdout)
            engine.close()
            engine = connect("duckdb:")
            continue
        if found.refused:
            counts[f"refused: {found.refused[:60]}"] += 1
        else:
            counts["converged" if found.converged else "not converged"] += 1
            if not found.converged:
                print(
                    f"seed {seed} not converged: gap {found.gap:.2g} after {found.passes}: {case.shape} {case.options}"
                )
    for name, number in counts.most_common():
        print(f"{number:6}  {name}")
    print(f"{failed:6}  failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
