"""`evaluate`, next to a pass: python -m bench.experiments.evaluating [star|pair|chain] [--url duckdb:]"""

from collections.abc import Callable
from functools import partial
from statistics import median

from bench.races.one_pass import BUCKETS, NEAR, asked_problem, in_turns
from bench.races.tasks import task
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort
from tests.evaluating import evaluate_beta

RUNS = 3
TASKS = {"chain": task("chain"), "pair": task("chain", tables=2), "star": task("star")}


def main() -> None:
    with asked_problem("Both at weights near the optimum, in turns.", TASKS) as (name, made, problem):
        oracle = JoinOracle(problem)
        beta = dane.solve(oracle, L2(made.lam), Effort(tol=NEAR)).beta
        forms: dict[str, Callable[[], object]] = {
            "pass": partial(oracle.pass_, beta, BUCKETS),
            "evaluate": partial(evaluate_beta, problem, beta),
        }
        seconds = in_turns(forms, RUNS)
    passed, evaluated = (median(seconds[form]) for form in forms)
    print(f"{name}: a pass {passed:.2f} s, evaluate {evaluated:.2f} s, {evaluated / passed:.2f} passes")


if __name__ == "__main__":
    main()
