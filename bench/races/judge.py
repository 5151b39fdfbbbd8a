"""F of a model of any maker over the full join: from its rows where they fit in memory, else by a relational pass.

The first way shares nothing with what it judges. The second is proven: F lies between the two ends that it gives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bench.races.competitors import area, raw, scaled
from bench.races.export import exported
from bench.races.matrix import Given, matrix
from bench.races.tasks import Task, parsed
from sqlsvm.ask.scored import of_plan
from sqlsvm.engine import connect
from sqlsvm.engine.base import Values
from sqlsvm.model.scored import of_two_classes
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem

NUMBERS = 3e8
"""Cells of a join up to which it is judged by its rows."""

BUCKETS = 128
"""For the relational pass, where that counts on the grid."""

Interval = tuple[float, float]


def judge(task: Task, url: str, models: Sequence[Given], cells: float) -> list[Interval]:
    return list(_by_rows(task, url, models) if cells <= NUMBERS else _by_pass(task, url, models))


def _by_rows(task: Task, url: str, models: Sequence[Given]) -> Iterator[Interval]:
    rows = matrix(task, exported(url, task))
    for model in models:
        found = rows.objective(rows.beta(model), task.lam)
        yield found, found


def _by_pass(task: Task, url: str, models: Sequence[Given]) -> Iterator[Interval]:
    with connect(url) as engine, open_problem(engine, task.text, task.options) as problem:
        for model in models:
            beta = scaled(problem, model)
            cut = JoinOracle(problem).pass_(beta, BUCKETS)
            low = cut.value_low + task.lam * float(beta @ beta)
            yield low, low + cut.error


# -- on rows that were held out ----------------------------------------------------------------------------------------

FEW = 30
"""Rows of the label's table. With fewer, the database counts the scores of all that were held out."""


def unseen(task: Task, url: str, models: Sequence[Given], later: int, every: int) -> list[float | None]:
    """The AUC of each on the rows of the join of so many rows of the label's table, or of all that were held out."""
    return list(_of_rows(task, url, models, later) if later >= FEW else _of_scores(task, url, models, every))


def _of_rows(task: Task, url: str, models: Sequence[Given], later: int) -> Iterator[float | None]:
    """A NULL is the mean of the rows that were trained on."""
    columns = exported(url, replace(task, later=later))
    is_positive = columns.pop(task.label) > 0
    known: Mapping[str, Values] = {}
    for name, cells in columns.items():
        if cells.dtype.kind == "f" and np.isnan(cells).any():
            known = known or exported(url, task)
            columns[name] = np.where(np.isnan(cells), np.nanmean(known[name]), cells)
    for model in models:
        scores = np.full(len(is_positive), float(model["intercept"]))
        for name, weight in model["weights"].items():
            scores += _weighed(columns[name], weight)
        yield area(is_positive, scores)


def _weighed(cells: Values, weight: float | Mapping[str, float]) -> Values:
    if not isinstance(weight, Mapping):
        return np.asarray(weight * cells.astype(float))
    plain = cells.astype(np.int64) if cells.dtype.kind in "if" else cells
    values, places = np.unique(plain.astype(str), return_inverse=True)
    return np.array([weight.get(value, 0.0) for value in values.tolist()])[places]


def _of_scores(task: Task, url: str, models: Sequence[Given], every: int) -> Iterator[float | None]:
    with connect(url) as engine:
        text = parsed(replace(task, later=every), engine).sql(engine.dialect)
        with open_problem(engine, text, task.options) as problem:
            for model in models:
                found = of_two_classes(of_plan(problem.work, problem.plan, raw(problem, model), 4096))
                yield found.auc.value if found.auc else None
