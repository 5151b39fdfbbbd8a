"""A pass of each loss next to one of the hinge: python -m bench.experiments.losses [star|pair|chain] [--url duckdb:]"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from statistics import median
from typing import get_args

from bench.races.one_pass import NEAR, asked_problem, in_turns
from bench.races.tasks import task
from sqlsvm.options import ClassLoss
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.solve import dane
from sqlsvm.solve.loss import Piecewise, named
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort

RUNS, SOFT = 5, 0.05
BUCKETS = 24
"""On the grid, of all losses: about what a gap of 1e-3 needs."""
TASKS = {"star": task("star"), "pair": task("chain", tables=2), "chain": task("chain")}


def main() -> None:
    with asked_problem("A pass of each loss, near its own optimum.", TASKS) as (_, made, problem):
        seconds = in_turns(dict(_passes(problem, made.lam)), RUNS)
    base = seconds["hinge"]
    for name, each in seconds.items():
        ratios = f"{min(each) / min(base):.2f} of the hinge's best, {median(each) / median(base):.2f} of its median"
        print(f"{name:16}{min(each):8.3f} s   {ratios}")


def _passes(problem: Data, lam: float) -> Iterator[tuple[str, Callable[[], object]]]:
    for name in get_args(ClassLoss):
        loss = named(name, [(-1.0, 1.0), (1.0, -1.0, 0.0)])
        if problem.plan.centre and not isinstance(loss, Piecewise):
            continue
        oracle = JoinOracle(replace(problem, plan=replace(problem.plan, loss=loss)))
        beta = dane.solve(oracle, L2(lam), Effort(tol=NEAR)).beta
        yield name, partial(oracle.pass_, beta, None if oracle.exact else BUCKETS)
        if oracle.soft:
            yield f"{name}, soft", partial(oracle.pass_, beta, None, SOFT)


if __name__ == "__main__":
    main()
