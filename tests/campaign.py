"""`python -m tests.campaign RUNS FIRST [FILE]`: random trainings, each checked on all rows of its join.

They run in DuckDB in memory, and some in PostgreSQL and in psql. FILE gets a line of JSON for each run; with no RUNS
(0) only the counts of what FILE has are printed. Ctrl-C ends it with the counts so far."""

import json
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from types import FrameType
from typing import Any, TextIO

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.psql.install import install
from tests import servers
from tests.ground.campaign import Case, Found, drawn, run

LIMIT = 10
"""Seconds of the processor for a run."""
DATABASE = "sqlsvm_campaign"


class TooSlow(Exception):
    pass


@dataclass
class Places:
    """A session with each engine, opened when a case needs it. One in which a run has failed is closed."""

    stack: ExitStack
    sessions: dict[str, Engine] = field(default_factory=dict)
    dsn: str = ""

    def of(self, case: Case) -> Engine:
        name = "duckdb" if case.place == "duckdb" else "postgres"
        if name not in self.sessions:
            self.sessions[name] = connect("duckdb:?threads=1") if name == "duckdb" else self._postgres()
        return self.sessions[name]

    def _postgres(self) -> Engine:
        if not self.dsn:
            server = self.stack.enter_context(servers.server())
            self.dsn = self.stack.enter_context(servers.database(server, DATABASE))
        engine = connect(self.dsn)
        install(engine)
        return engine

    def close(self) -> None:
        for engine in self.sessions.values():
            engine.close()
        self.sessions.clear()


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main(runs: int, first: int, path: str | None) -> int:
    lines = list[dict[str, Any]]() if runs or path is None else read(path)
    with ExitStack() as stack:
        places, file = Places(stack), stack.enter_context(open(path or "/dev/null", "a", encoding="utf-8"))
        stack.callback(places.close)
        try:
            for seed in range(first, first + runs):
                lines.append(told(file, drawn(seed), places))
        except KeyboardInterrupt:
            print("interrupted")
    for line in table(lines):
        print(line)
    return int(any(line["found"] == "wrong" for line in lines))


def read(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def told(file: TextIO, case: Case, places: Places) -> dict[str, Any]:
    began, spent = perf_counter(), process_time()
    found, said = one(places, case)
    more = {"wall": round(perf_counter() - began, 2), "cpu": round(process_time() - spent, 2)}
    line = {"seed": case.seed, "found": found, "causes": case.causes, "place": case.place, **said, **more}
    file.write(json.dumps(line) + "\n")
    file.flush()
    return line


def one(places: Places, case: Case) -> tuple[str, dict[str, Any]]:
    try:
        with limit(LIMIT):
            return kind(found := run(places.of(case), case)), vars(found)
    except TooSlow:
        places.close()
        print(f"seed {case.seed}: more than {LIMIT} seconds: {case.shape} {case.options}", flush=True)
        return "too slow", {}
    except Exception as error:
        places.close()
        print(f"seed {case.seed}: {error!r}\n{case.place} {case.unnamed} {case.options}\n{case.join.query}")
        traceback.print_exc(limit=-3, file=sys.stdout)
        sys.stdout.flush()
        return "wrong", {"said": repr(error)}


def kind(found: Found) -> str:
    if found.refused:
        return "refused"
    return "converged" if found.converged else f"not converged: {found.obstacle}"


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """How many ended how; and of those with each cause, how many did not converge."""
    for name, number in Counter(line["found"] for line in lines).most_common():
        yield f"{number:6}  {name}"
    causes = Counter(cause for line in lines for cause in line["causes"] or ["ordinary"])
    for cause, number in causes.most_common():
        ends = [line["found"] for line in lines if cause in (line["causes"] or ["ordinary"])]
        open_ = Counter(end for end in ends if end.startswith("not"))
        yield f"{number:6}  {cause}: {sum(open_.values()) / number:.1%} not converged {dict(open_)}"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None))
