"""`python -m tests.race RUNS FIRST`: the passes of dane and of the bundle on random problems, and the most seconds that
a solver takes between them.

Often the sample is small and tells little: of classes that are rare, of weights and features with long tails. bundle
needs no sample."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

from sqlsvm.solve import bundle, dane
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.elastic import Elastic
from sqlsvm.solve.loss import named
from sqlsvm.solve.penalty import L2, Penalty
from sqlsvm.solve.solution import Effort
from tests.ground.numpy_oracle import NumpyOracle, flat_oracle

MOST, SLACK, ENOUGH, LONG = 150, 1.2, 2, 2.0
"""Passes; by so much more, and so many more, may dane take; seconds between passes that are long."""
LOSSES = ("hinge", "hinge", "squared_hinge", "smooth_hinge", "logistic")


@dataclass(frozen=True)
class Race:
    seed: int
    oracle: NumpyOracle
    penalty: Penalty
    sample: int
    said: str

    def passes(self, solver: str, most: int = MOST) -> int:
        """One more than `most` if no proof was found."""
        return self.measured(solver, most)[0]

    def measured(self, solver: str, most: int = MOST) -> tuple[int, float]:
        """Also the seconds of the processor between passes."""
        search, began = dane if solver == "dane" else bundle, process_time()
        found = search.solve(self.oracle, self.penalty, Effort(max_passes=most, sample=self.sample))
        between = process_time() - began - sum(record.seconds for record in found.history)
        return len(found.history) if found.converged else most + 1, between


def drawn(seed: int) -> Race:
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([300, 1000, 3000])), int(rng.choice([3, 8, 20, 40]))
    kind = str(rng.choice(["normal", "uniform", "discrete", "tails", "rare"]))
    each: dict[str, Callable[[], Array]] = {
        "normal": lambda: rng.normal(size=(n, d)),
        "uniform": lambda: rng.uniform(-1.0, 1.0, (n, d)),
        "discrete": lambda: rng.choice([-1.0, 0.0, 1.0], (n, d)),
        "tails": lambda: np.clip(rng.standard_t(1.5, (n, d)), -100.0, 100.0),
        "rare": lambda: (rng.random((n, d)) < 0.03).astype(float),
    }
    x = each[kind]()
    x = np.hstack([x / x.std(axis=0).clip(1e-9), np.ones((n, 1))])
    noise, shift = float(rng.choice([0.0, 0.3, 1.0, 5.0])), float(rng.choice([0.0, 0.0, 1.0, 2.0]))
    score = x[:, :-1] @ rng.normal(size=d) / d**0.5 + noise * rng.normal(size=n)
    labels = np.where(score > shift * score.std(), 1.0, -1.0)
    weights = rng.pareto(1.2, n) + 0.01 if rng.random() < 0.3 else np.ones(n)
    loss, exact = str(rng.choice(LOSSES)), bool(rng.random() < 0.6)
    oracle = replace(flat_oracle(x, labels, weights, exact=exact), loss=named(loss), counts_whole=rng.random() < 0.5)
    oracle.even = loss == "hinge"
    lam, l1 = float(10.0 ** rng.integers(-5, 1)), float(10.0 ** rng.integers(-4, -1)) * (rng.random() < 0.25)
    penalty = Elastic(lam, l1, Constraint.none(d + 1), d) if l1 else L2(lam)
    sample = int(rng.choice([20, 50, 200, 1000, 100_000]))
    said = f"{kind} n={n} d={d} noise={noise:g} shift={shift:g} {loss} {'exact' if exact else 'grid'}"
    said += f" lam={lam:g} l1={l1:g} sample={sample} {'weights' if weights.max() > 1 else ''}"
    return Race(seed, oracle, penalty, sample, said)


def main(runs: int, first: int) -> None:
    """Ctrl-C ends it with the counts so far."""
    ratios, seconds = list[float](), list[float]()
    over = none = 0
    try:
        for seed in range(first, first + runs):
            race = drawn(seed)
            (found, spent), (peer, other) = race.measured("dane"), race.measured("bundle")
            seconds += [spent, other]
            better = min(found, peer)
            none += better > MOST
            ratios.append(found / better)
            if found > max(SLACK * better, better + ENOUGH):
                over += 1
                print(f"seed {seed}: dane {found}, bundle {peer}: {race.said}", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    print(f"{len(ratios)} problems: dane took more than {SLACK} times the passes of the better in {over}, at most")
    print(f"{max(ratios):.2f} times; of {none} neither found a proof in {MOST} passes")
    print(f"between passes: at most {max(seconds):.2f} s, {sum(s > LONG for s in seconds)} more than {LONG} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
