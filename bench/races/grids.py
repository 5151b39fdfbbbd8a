"""The settings that each peer is tried with, from cheap to dear: the first that reaches the objective is timed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

Setting = Mapping[str, Any]

LIBLINEAR: Sequence[Setting] = [{"tol": tol} for tol in (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)]
SGD: Sequence[Setting] = [
    {"learning_rate": rate, "eta0": eta0, "max_iter": epochs, "average": True, **more}
    for epochs in (3, 10, 30)
    for rate, eta0, more in (("invscaling", 1.0, {"power_t": 0.5}), ("constant", 0.001, {}), ("optimal", 0.01, {}))
]
REHLINE: Sequence[Setting] = [{"max_iter": sweeps} for sweeps in (3, 10, 30, 100, 300)]
SAMPLE: Sequence[Setting] = [{"rows": rows} for rows in (10_000, 30_000, 100_000, 300_000)]
MADLIB: Sequence[Setting] = [
    {"shuffled": shuffled, "init_stepsize": step, "decay_factor": decay, "max_iter": passes}
    for passes, decay in ((2, 0.1), (4, 0.3), (8, 0.5))
    for shuffled in (False, True)
    for step in (1e-3, 3e-3, 1e-2, 3e-4, 3e-2)
]

PATIENCE = 60.0
"""No further setting is begun after so many seconds of trying."""


@dataclass(frozen=True)
class Trial:
    setting: Setting
    beta: Any
    objective: float
    seconds: float


def tuned(
    grid: Sequence[Setting],
    fit: Callable[[Setting], Any],
    objective: Callable[[Any], float],
    target: float,
    chosen: Setting | None = None,
) -> Trial:
    """The first setting whose objective is at most the target, else the best one. A setting that was chosen in an
    earlier run is all that is tried; what it takes to look at the objective is not counted."""
    best: Trial | None = None
    began = perf_counter()
    for setting in grid if chosen is None else [chosen]:
        started = perf_counter()
        beta = fit(setting)
        seconds = perf_counter() - started
        trial = Trial(setting, beta, inf if chosen else objective(beta), seconds)
        if best is None or trial.objective < best.objective:
            best = trial
        if best.objective <= target or perf_counter() - began > PATIENCE:
            break
    assert best is not None
    return best


def said(setting: Setting) -> str:
    """As a table shows it.

    >>> said({"max_iter": 3, "average": True})
    'max_iter 3, average True'
    """
    return ", ".join(f"{name} {value}" for name, value in setting.items())
