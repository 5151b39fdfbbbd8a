"""F of a model of any maker over the full join: from its rows where they fit in memory, else by a relational pass.

The first way shares nothing with what it judges. The second is proven: F lies between the two ends that it gives."""

from collections.abc import Iterator, Sequence

from bench.races.competitors import scaled
from bench.races.export import exported
from bench.races.matrix import Given, matrix
from bench.races.tasks import Task
from sqlsvm.engine import connect
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
