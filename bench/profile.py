"""EXPLAIN (ANALYZE, BUFFERS) of a pass, with the share of each statement: where the time goes, for the next person.

python -m bench.profile star|chain|hub|snowflake|... [--url embedded:] [--buckets 32] [--share 0.05]
"""

from argparse import ArgumentParser
from dataclasses import dataclass, replace
from time import perf_counter

from bench.one_pass import NEAR
from bench.tasks import FAMILIES, Task, load, task
from sqlsvm.compile.statement import Statement
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Rows, Text, Texts
from sqlsvm.run.data import prepared
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import labelled
from sqlsvm.run.workspace import Workspace, workspace
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort

PREFIX = {"postgres": "EXPLAIN (ANALYZE, BUFFERS) ", "duckdb": "EXPLAIN ANALYZE "}


@dataclass(frozen=True)
class Explained:
    """A statement that was run, and what the database says that it did."""

    name: str
    seconds: float
    plan: str


class ExplainingWorkspace(Workspace):
    """Runs each statement as usual, which is timed, and then once more under EXPLAIN ANALYZE, which is slower."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.explained: list[Explained] = []

    def _send(self, statement: Statement, texts: Texts, values: list[object]) -> Rows | None:
        began = perf_counter()
        answer = super()._send(statement, texts, values)
        seconds = perf_counter() - began
        select = self.engine.text(statement.query)
        plan = self.engine.fetch(Text(PREFIX[self.engine.dialect] + select), values)
        lines = "\n".join(str(cell) for cell in list(plan.values())[-1])
        self.explained.append(Explained(statement.name, seconds, lines))
        return answer


def profile(engine: Engine, made: Task, buckets: int) -> list[Explained]:
    """A pass near the optimum, where how many rows are active is as in most passes of a training."""
    query = labelled(engine, made.text, made.options)
    with workspace(engine) as work:
        problem = prepared(work, query, made.options)
        explaining = ExplainingWorkspace(engine)
        beta = dane.solve(JoinOracle(problem), L2(made.lam), Effort(tol=NEAR)).beta
        JoinOracle(replace(problem, work=explaining)).pass_(beta, buckets)
        return explaining.explained


def main() -> None:
    parser = ArgumentParser(description="Where the time of a pass goes.")
    parser.add_argument("task", choices=FAMILIES)
    parser.add_argument("--url", default="embedded:")
    parser.add_argument("--buckets", type=int, default=32)
    parser.add_argument("--share", type=float, default=0.05, help="plans of the statements that take more than this")
    arguments = parser.parse_args()
    with connect(arguments.url) as engine:
        made = task(arguments.task)
        load(engine, made.tables())
        found, version = profile(engine, made, arguments.buckets), engine.version
    whole = sum(e.seconds for e in found)
    print(f"{made.says}; {version}; a pass takes {whole:.2f} s in {len(found)} statements")
    for e in found:
        print(f"{e.seconds / whole:5.0%} {e.seconds:8.4f} s  {e.name}")
    for e in sorted(found, key=lambda e: -e.seconds):
        if e.seconds >= arguments.share * whole:
            print(f"\n-- {e.name}: {e.seconds:.3f} s\n{e.plan}")


if __name__ == "__main__":
    main()
