"""The paper's descent compared with exact subgradient descent: F of the best iterate above the optimum, pass by pass.

python -m bench.experiments.descent

In numpy, on a chain of three tables. With epsilon 1e-12 no row is counted wrong: that is subgradient descent. What
counting within (1 + epsilon) costs is how far a line stays above that one.
"""

from typing import Any

from bench.races.results import EXACT
from sqlsvm.lab.solve import descent
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort
from tests.ground.chain import chain_oracle

EPSILONS = (EXACT, 0.02, 0.1, 0.5)
LAM, PASSES = 1e-2, 150


def curves(rows: int = 300) -> list[dict[str, Any]]:
    """[{epsilon, excess: (F(best iterate so far) - F*) / F* after each pass}]; F* is proven to 1e-5."""
    oracle = chain_oracle(0, 12, discrete=False, exact=True, rows=rows)
    best = dane.solve(oracle, L2(LAM), Effort(tol=1e-5)).certificate.lower_bound
    found = []
    for epsilon in EPSILONS:
        points = descent.solve(oracle, L2(LAM), Effort(max_passes=PASSES, epsilon=epsilon)).state.points
        least, excess = float("inf"), []
        for point in points:
            least = min(least, oracle.objective(point, LAM))
            excess.append(least / best - 1.0)
        found.append({"epsilon": epsilon, "excess": excess})
    return found


def main() -> None:
    for curve in curves():
        shown = ", ".join(f"{curve['excess'][n - 1]:.4f}" for n in (1, 5, 10, 20, 50, 100, PASSES))
        print(f"epsilon {curve['epsilon']:g}: {shown}")


if __name__ == "__main__":
    main()
