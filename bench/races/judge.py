"""What a model of any maker is worth: F over the full join, and the AUC of rows that nobody has trained on.

Both from the rows where they fit in memory: this shares nothing with what it judges. Else F is from a relational pass,
which is proven: F lies between the two ends that it gives. And the AUC is of a uniform sample of the other rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from bench.races.alone import numbered
from bench.races.competitors import scaled
from bench.races.export import exported
from bench.races.matrix import Given, matrix, scores
from bench.races.tasks import Task, held_out
from sqlsvm.engine import connect
from sqlsvm.engine.base import Values
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem

NUMBERS = 3e8
"""Cells of a join up to which it is judged by its rows."""

BUCKETS = 128
"""For the relational pass, where that counts on the grid."""

SAMPLE = 100_000

Interval = tuple[float, float]


def judge(task: Task, url: str, models: Sequence[Given], cells: float) -> dict[str, Any]:
    """{"intervals": of F, None for what is not linear, "aucs": where rows are held out}."""
    by_rows = cells <= NUMBERS
    intervals = list(_by_rows(task, url, models) if by_rows else _by_pass(task, url, models))
    if not task.sizes.get("unseen"):
        return {"intervals": intervals, "aucs": [None] * len(models)}
    return {"intervals": intervals, "aucs": list((_of_rows if by_rows else _of_sample)(task, url, models))}


def _by_rows(task: Task, url: str, models: Sequence[Given]) -> Iterator[Interval | None]:
    rows = matrix(task.label, task.categorical, exported(url, task))
    for model in models:
        found = rows.objective(rows.beta(model), task.lam) if "weights" in model else None
        yield None if found is None else (found, found)


def _by_pass(task: Task, url: str, models: Sequence[Given]) -> Iterator[Interval]:
    with connect(url) as engine, open_problem(engine, task.text, task.options) as problem:
        for model in models:
            beta = scaled(problem, model)
            cut = JoinOracle(problem).pass_(beta, BUCKETS)
            low = cut.value_low + task.lam * float(beta @ beta)
            yield low, low + cut.error


def _of_rows(task: Task, url: str, models: Sequence[Given]) -> Iterator[float]:
    trained_on = exported(url, task)
    numbers = {n: v.astype(float) for n, v in trained_on.items() if v.dtype.kind in "bif"}
    centre = {name: float(np.nanmean(values)) for name, values in numbers.items()}
    columns = exported(url, held_out(task))
    y = columns.pop(task.label) > 0
    for model in models:
        found = scores(model, columns, centre) if "weights" in model else _grown(model, columns)
        yield float(roc_auc_score(y, found))


def _grown(model: Given, columns: Mapping[str, Values]) -> Values:
    from lightgbm import Booster

    booster = Booster(model_str=model["trees"])
    cells = numbered({name: columns[name] for name in model["names"]}, model["known"])
    return np.asarray(booster.predict(cells))


def _of_sample(task: Task, url: str, models: Sequence[Given]) -> Iterator[float]:
    with connect(url) as engine, open_problem(engine, held_out(task).text, task.options) as problem:
        sample = JoinOracle(problem).sample(SAMPLE, 0)
        rows = sample.rows.dense()
        for model in models:
            yield float(roc_auc_score(sample.signs > 0, rows @ scaled(problem, model), sample_weight=sample.weights))
