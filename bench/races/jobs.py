"""Jobs of several trainings, and regressions, next to tools that do them: python -m bench.races.jobs [--facts 200000]

Path: 13 values of lambda with the hinge. Folds: 5 parts left out once each, and measured. Cross-validation: the path of
the logistic loss over 5 folds, as LogisticRegressionCV does it. Regressions: one training of a label that is a number.
The other tool waits for the export of the join, and gets its columns scaled. LIBLINEAR is told the objective: it is
timed with the loosest tolerance that comes within 1e-3 of it. A process that takes longer than --limit is ended.
"""

import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from queue import Empty
from time import perf_counter
from typing import Any

import numpy as np
from rehline import plqERM_Ridge
from sklearn.linear_model import HuberRegressor, LogisticRegressionCV, QuantileRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC, LinearSVR

from bench.races.matrix import Matrix, matrix
from bench.races.tasks import Task, load, parsed, task
from sqlsvm.ask.validation import Validation
from sqlsvm.engine import connect
from sqlsvm.engine.base import Values
from sqlsvm.run.train import train_each
from sqlsvm.run.training import Training

LAMBDAS = tuple(np.geomspace(1e-1, 1e-5, 13).tolist())
LAM, FOLDS, TUBE, QUANTILE = 1e-4, 5, 0.1, 0.9
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4)
CLOSE = 1e-3

Fit = Callable[[Matrix, Sequence[float]], object]
"""From the matrix and the objectives of sqlsvm. It returns the seconds that count, or all of its time counts."""


@dataclass(frozen=True)
class Job:
    name: str
    trainings: Mapping[str, Training]
    peers: Mapping[str, Fit]


def main() -> None:
    parser = ArgumentParser(description="Jobs of several trainings, and regressions, next to other tools.")
    parser.add_argument("--facts", type=int, default=200_000)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each peer")
    parser.add_argument("--url", action="append", help="duckdb:FILE of its own, or a server; by default duckdb:")
    parser.add_argument("--only", default="", help="the tasks and jobs with this in their name, such as 'chain huber'")
    given = parser.parse_args()
    print("| task | job | sqlsvm | with the export | the peer alone |\n|---|---|---|---|---|")
    tasks = {"star": task("star", facts=given.facts), "chain": task("chain", rows=10_000, keys=2000)}
    for name, classes in tasks.items():
        for made, jobs in ((classes, classifying), (with_numbers(classes), regressing)):
            for url in given.url or ["duckdb:"]:
                wanted = [job for job in jobs() if given.only in f"{name} {job.name}"]
                if wanted:
                    race(name, made, url, wanted, given.limit)


def race(name: str, made: Task, url: str, jobs: Sequence[Job], limit: float) -> None:
    with connect(url) as engine:
        load(engine, made.tables())
        began = perf_counter()
        data = scaled(made, engine.fetch(engine.text(parsed(made, engine))))
        export = perf_counter() - began
        for job in jobs:
            began, validation = perf_counter(), Validation(job.trainings)
            models = train_each(engine, made.text, job.trainings, on_fold=validation.measure)
            ours = perf_counter() - began
            assert all(model.converged for model in models)
            for peer, fit in job.peers.items():
                seconds = timed(fit, data, [model.objective_upper for model in models], limit)
                alone = f"more than {limit:.0f} s" if seconds is None else f"{seconds:.1f} s"
                both = alone if seconds is None else f"{export + seconds:.1f} s"
                print(f"| {name} | {job.name} | {ours:.1f} s | {both} | {peer}, {alone} |", flush=True)


def with_numbers(made: Task) -> Task:
    """The same with a label that is a number, with heavy tails."""

    def tables() -> Any:
        found = made.tables()
        home = next(table for table in found.values() if "y" in table)
        rng, x = np.random.default_rng(5), [v for k, v in home.items() if v.dtype.kind == "f"]
        home["y"] = x[0] - x[1] + 0.5 * rng.standard_t(3, len(x[0]))
        return found

    return replace(made, tables=tables)


def scaled(made: Task, columns: Mapping[str, Values]) -> Matrix:
    """`matrix` makes classes of the label."""
    y = np.asarray(columns[made.label], dtype=float)
    data = matrix(made.label, made.categorical, columns)
    return data if set(np.unique(y)) <= {-1.0, 0.0, 1.0} else replace(data, y=y - y.mean())


# -- the jobs ----------------------------------------------------------------------------------------------------------


def classifying() -> Iterator[Job]:
    path = {f"m{n}": Training.of(label="y", lam=lam) for n, lam in enumerate(LAMBDAS)}
    yield Job("path of 13 lambdas", path, {"LIBLINEAR": hinges})
    folds = {"m": Training.of(label="y", lam=LAM, folds=FOLDS)}
    yield Job("5 folds", folds, {"LIBLINEAR": hinge_in_folds})
    both = {f"m{n}": Training.of(label="y", lam=lam, loss="logistic", folds=FOLDS) for n, lam in enumerate(LAMBDAS)}
    yield Job("logistic path in 5 folds", both, {"LogisticRegressionCV": logistic_in_folds})


def regressing() -> Iterator[Job]:
    def of(loss: str, **options: Any) -> dict[str, Training]:
        return {"m": Training.of(label="y", lam=LAM, loss=loss, **options)}

    tube = of("epsilon_insensitive", tube=TUBE)
    yield Job("epsilon-insensitive", tube, {"LIBLINEAR": liblinear_svr, "ReHLine": rehline(name="svr", epsilon=TUBE)})
    yield Job("huber", of("huber", delta=1.0), {"HuberRegressor": huber, "ReHLine": rehline(name="huber", tau=1.0)})
    peers = {"QuantileRegressor": quantile, "ReHLine": rehline(name="QR", qt=QUANTILE)}
    yield Job("quantile 0.9", of("quantile", quantile=QUANTILE), peers)


# -- the peers ---------------------------------------------------------------------------------------------------------


def timed(fit: Fit, data: Matrix, targets: Sequence[float], limit: float) -> float | None:
    """Seconds of the call, in a process that is ended after the limit."""
    context = get_context("fork")
    answers: Any = context.Queue()

    def run() -> None:
        warnings.simplefilter("ignore")
        began = perf_counter()
        found = fit(data, targets)
        answers.put(found if isinstance(found, float) else perf_counter() - began)

    child = context.Process(target=run)
    child.start()
    try:
        return float(answers.get(timeout=limit))
    except Empty:
        return None
    finally:
        child.kill()
        child.join()


def share(data: Matrix, lam: float) -> float:
    return 1.0 / (2.0 * lam * data.rows)


def hinges(data: Matrix, targets: Sequence[float]) -> float:
    return sum(hinge(data, lam, target)[0] for lam, target in zip(LAMBDAS, targets, strict=True))


def hinge(data: Matrix, lam: float, target: float) -> tuple[float, float]:
    """Seconds, and the tolerance that was enough."""
    for tol in TOLERANCES:
        began = perf_counter()
        model = svc(data, lam, tol).fit(data.x, data.y)
        seconds = perf_counter() - began
        if data.objective(model.coef_[0], lam) <= (1.0 + CLOSE) * target:
            break
    return seconds, tol


def svc(data: Matrix, lam: float, tol: float) -> LinearSVC:
    return LinearSVC(loss="hinge", C=share(data, lam), fit_intercept=False, tol=tol, max_iter=2000, random_state=0)


def hinge_in_folds(data: Matrix, targets: Sequence[float]) -> float:
    seconds, tol = hinge(data, LAM, targets[0])
    began = perf_counter()
    for train, rest in StratifiedKFold(FOLDS).split(data.x, data.y):
        model = svc(data, LAM, tol).fit(data.x[train], data.y[train])
        roc_auc_score(data.y[rest], model.decision_function(data.x[rest]))
    return seconds + perf_counter() - began


def logistic_in_folds(data: Matrix, _targets: Sequence[float]) -> object:
    values = [share(data, lam) for lam in LAMBDAS]
    return LogisticRegressionCV(Cs=values, cv=FOLDS, fit_intercept=False, scoring="roc_auc").fit(data.x, data.y)


def liblinear_svr(data: Matrix, targets: Sequence[float]) -> float:
    for tol in TOLERANCES:
        began = perf_counter()
        given = {"C": share(data, LAM), "fit_intercept": False, "tol": tol, "max_iter": 2000, "random_state": 0}
        beta = LinearSVR(epsilon=TUBE, **given).fit(data.x, data.y).coef_
        seconds = perf_counter() - began
        loss = float(np.maximum(0.0, np.abs(data.y - data.x @ beta) - TUBE).mean())
        if loss + LAM * float(beta @ beta) <= (1.0 + CLOSE) * targets[0]:
            break
    return seconds


def huber(data: Matrix, _targets: Sequence[float]) -> object:
    """It also estimates a scale."""
    return HuberRegressor(fit_intercept=False).fit(data.x, data.y)


def quantile(data: Matrix, _targets: Sequence[float]) -> object:
    """Its penalty is l1, on all weights but the intercept."""
    return QuantileRegressor(quantile=QUANTILE, alpha=LAM).fit(data.x[:, 1:], data.y)


def rehline(**loss: Any) -> Fit:
    return lambda data, _targets: plqERM_Ridge(loss, C=share(data, LAM), max_iter=20_000).fit(data.x, data.y)


if __name__ == "__main__":
    main()
