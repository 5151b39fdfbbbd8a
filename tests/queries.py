"""`python -m tests.queries RUNS FIRST [DSN] [KIND]`: random queries. No rule may change the rows of those of the kind
`rules`; those of `groups` group a join; those of `selects` have any form, two deep, and are compared with their result
as a table; those of `counts` are only counted, which makes many of them cheap. Ctrl-C ends it with the counts so far.
"""

import sys
import traceback
from collections import Counter

from sqlsvm.engine import connect
from sqlsvm.query import faults
from tests.ground import counting, grouping, rewriting, selects

KINDS = {"rules": rewriting.check, "groups": grouping.check, "selects": selects.check, "counts": counting.check}


def main(runs: int, first: int, dsn: str = "duckdb:", kind: str = "rules") -> int:
    engine, counts = connect(dsn), Counter[str]()
    faults.STRICT = True
    try:
        for seed in range(first, first + runs):
            try:
                counts[KINDS[kind](engine, seed)] += 1
            except Exception as error:
                counts["failed"] += 1
                print(f"seed {seed}: {error!r}")
                traceback.print_exc(limit=-3, file=sys.stdout)
                engine.close()
                engine = connect(dsn)
    except KeyboardInterrupt:
        print("interrupted")
    for name, number in counts.most_common():
        print(f"{number:6}  {name}")
    return int(counts["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
