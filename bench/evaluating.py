"""`evaluate`, compared with a pass at the same weights: python -m bench.evaluating [star|pair|chain] [--url duckdb:]"""

from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from bench.one_pass import NEAR, in_turns
from bench.tasks import load, task
from sqlsvm.ask.evaluate import evaluate
from sqlsvm.engine import connect
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.problem import open_problem
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort

RUNS, BUCKETS = 3, 32
TASKS = {"star": task("star"), "pair": task("chain", tables=2), "chain": task("chain")}


def main() -> None:
    parser = ArgumentParser(description="Both at weights near the optimum, in turns.")
    parser.add_argument("task", nargs="?", default="chain", choices=TASKS)
    parser.add_argument("--url", default="duckdb:")
    arguments = parser.parse_args()
    made = TASKS[arguments.task]
    with connect(arguments.url) as engine:
        load(engine, made.tables())
        with open_problem(engine, made.text, made.options) as problem:
            oracle = JoinOracle(problem)
            beta = np.asarray(dane.solve(oracle, L2(made.lam), Effort(tol=NEAR)).beta)
            forms: dict[str, Callable[[], object]] = {
                "pass": partial(oracle.pass_, beta, BUCKETS),
                "evaluate": partial(evaluate, problem, beta),
            }
            seconds = in_turns(forms, RUNS)
    passed, evaluated = (median(seconds[form]) for form in forms)
    print(f"{arguments.task}: a pass {passed:.2f} s, evaluate {evaluated:.2f} s, {evaluated / passed:.2f} passes")


if __name__ == "__main__":
    main()
