"""How many passes do the solvers need? Prints a markdown table; every cell has one number per seed.

    OPENBLAS_NUM_THREADS=1 python -m bench.experiments.passes [--solver dane] [--rows 3000] [--fan-out 10]

The data are chains of three tables joined many to many, about 3 * 10^5 join rows, counted by brute force in numpy:
`exact` with the scores, `grid` with every table's score rounded as the compiled SQL rounds it. Each tolerance is a
run of its own: a solver that is asked for less also counts more coarsely.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import product
from types import ModuleType
from typing import Any

from sqlsvm.solve import bundle, dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort, Solution
from tests.ground.chain import chain_oracle
from tests.ground.numpy_oracle import NumpyOracle

SOLVERS: dict[str, ModuleType] = {"dane": dane, "bundle": bundle}
TOLERANCES = (1e-2, 1e-3, 1e-4)
LAMBDAS = (1e-2, 1e-3, 1e-4)
SEEDS = range(3)


MOST = 60


def main() -> None:
    parser = ArgumentParser(description="Passes to a certified gap.")
    parser.add_argument("--solver", choices=SOLVERS, default="dane")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--fan-out", type=int, default=10)
    arguments = parser.parse_args()
    print("| features | d | lambda | counting | 1e-2 | 1e-3 | 1e-4 | buckets at 1e-3 (first seed) |")
    print("|---|---|---|---|---|---|---|---|")
    for discrete, dimension in product((False, True), (20, 100)):
        data = instances(dimension, discrete, arguments.rows, arguments.fan_out)
        for lam, exact in product(LAMBDAS, (True, False)):
            name = "discrete" if discrete else "continuous"
            cells = measure(SOLVERS[arguments.solver], data, lam, exact)
            counting = "exact" if exact else "grid"
            print(f"| {name} | {dimension} | {lam:g} | {counting} | {' | '.join(cells)} |", flush=True)


def instances(dimension: int, discrete: bool, rows: int, fan_out: int = 10) -> list[NumpyOracle]:
    return [chain_oracle(s, dimension, discrete=discrete, exact=True, rows=rows, fan_out=fan_out) for s in SEEDS]


def measure(solver: ModuleType, data: list[NumpyOracle], lam: float, exact: bool) -> list[str]:
    """One cell for each tolerance, then the buckets of the passes of one run."""
    cells, buckets = [], ""
    for tol in TOLERANCES:
        solutions = list(solutions_of(solver, data, lam, exact, tol))
        cells.append(" ".join(str(len(s.history)) if s.converged else f"> {MOST}" for s in solutions))
        if tol == 1e-3 and not exact:
            buckets = " ".join(str(record.buckets) for record in solutions[0].history)
    return [*cells, buckets]


def solutions_of(
    solver: ModuleType, data: list[NumpyOracle], lam: float, exact: bool, tol: float
) -> Iterator[Solution]:
    """One for each seed."""
    for seed, oracle in zip(SEEDS, data, strict=True):
        oracle.exact = exact
        yield solver.solve(oracle, L2(lam), Effort(tol=tol, max_passes=MOST, seed=seed))


def table(rows: int) -> list[dict[str, Any]]:
    """For the picture: passes of every solver at d = 20, continuous features, counted on the grid."""
    data = instances(20, False, rows)
    return [
        {
            "solver": name,
            "lam": lam,
            "tol": tol,
            "passes": [len(s.history) for s in solutions_of(SOLVERS[name], data, lam, False, tol)],
        }
        for name, lam, tol in product(SOLVERS, LAMBDAS, TOLERANCES)
    ]


if __name__ == "__main__":
    main()
