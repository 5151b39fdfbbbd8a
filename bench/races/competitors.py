"""The competitors: how each is started on a task and a database, and what it gives.

sqlsvm is the command that a user would type, and a peer is a program of its own. F is the same function for all but
LightGBM: scaled features, mean hinge + lam |beta|^2, the intercept penalised.
"""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Literal

import numpy as np

from bench.races import grids, madlib, measure
from bench.races.alone import FITS
from bench.races.export import asked, exported
from bench.races.flat import FlatOracle
from bench.races.matrix import Given, Matrix, matrix
from bench.races.tasks import Task
from sqlsvm.engine import connect
from sqlsvm.engine.base import Values
from sqlsvm.model.model import Model
from sqlsvm.plan.constraints import read_beta
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.modelling import as_json
from sqlsvm.run.opening import labelled
from sqlsvm.run.workspace import workspace
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort

TOL = 1e-3
BUCKETS = 64
"""Where a peer's objective is looked at through a relational pass on the grid."""


@dataclass(frozen=True)
class Order:
    """What a competitor is asked: train on this. The reference is the model that was found before the race."""

    task: Task
    url: str
    reference: Given | None = None
    target: float = 0.0
    """The objective to be reached."""
    setting: grids.Setting | None = None
    """The setting that an earlier run chose."""
    tol: float = TOL


@dataclass(frozen=True)
class Outcome:
    """What it gave. `proof` is None where there is none."""

    model: dict[str, Any] | None
    setting: grids.Setting | None = None
    proof: dict[str, float] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    join_rows: float | None = None
    note: str = ""


Server = measure.Server | None
Start = Callable[[str, Order, float, Server], measure.Answer]
"""From the name of the competitor, what it is asked, the seconds that it has, and the server to look at."""


@dataclass(frozen=True)
class Competitor:
    name: str
    engine: Literal["postgres", "duckdb"]
    start: Start
    run: Callable[[Order], Outcome] | None = None
    """In the process of a worker: all of its work, or only the choice of a setting."""
    needs: Literal["tables", "join", "matrix"] = "tables"
    """What it must be able to go through: the tables, the rows of the join, or all of them in memory."""
    numbers_only: bool = False


def in_worker(name: str, order: Order, timeout: float, server: Server) -> measure.Answer:
    task = order.task
    job = {"role": "compete", "competitor": name, "family": task.family, "sizes": dict(task.sizes), "url": order.url}
    more = {"reference": order.reference, "target": order.target, "setting": order.setting, "tol": order.tol}
    return measure.run(job | more, timeout, server)


def tuned_first(then: Start) -> Start:
    """What has settings chooses one in a run that is not timed."""

    def start(name: str, order: Order, timeout: float, server: Server) -> measure.Answer:
        if order.setting is None:
            choice = in_worker(name, order, timeout, server)
            if choice.said is None:
                return choice
            order = replace(order, setting=choice.said["outcome"]["setting"])
        return then(name, order, timeout, server)

    return start


# -- sqlsvm ------------------------------------------------------------------------------------------------------------


def sqlsvm(*more: str) -> Start:
    """The command that a user would type."""

    def start(_name: str, order: Order, timeout: float, server: Server) -> measure.Answer:
        task = order.task
        options = {"--dsn": order.url, "--query": task.text, "--label": task.label, "--nulls": task.nulls}
        arguments = [word for pair in options.items() for word in pair]
        arguments += ["--lambda", str(task.lam), "--tol", str(order.tol), *more]
        arguments += [word for name in task.categorical for word in ("--categorical", name)]
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.json")
            command = ["-m", "sqlsvm", "train", *arguments, "--name", "bench", "--model-file", str(path)]
            answer = measure.timed([sys.executable, *command], "", timeout, server)
            if not path.exists():  # a gap that is too wide is no error here: the page shows it
                return answer
            model = Model.from_json(json.loads(path.read_text(encoding="utf-8")))
        return replace(answer, said={"outcome": asdict(_outcome(model))}, error="")

    return start


def _outcome(model: Model) -> Outcome:
    proof = {name: getattr(model, name) for name in ("objective", "objective_upper", "lower_bound", "gap")}
    history = [dict(record) for record in model.history]
    return Outcome(_given(model.weights, model.intercept), None, proof, history, model.join_rows)


def _given(weights: Sequence[Any], intercept: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for w in weights:
        if w.category is None:
            found[w.feature] = w.weight
        else:
            found.setdefault(w.feature, {})[str(w.category)] = w.weight
    return {"intercept": intercept, "weights": found}


# -- export, then a solver in memory -----------------------------------------------------------------------------------


def alone(fit: str) -> Start:
    """Its program imports nothing of sqlsvm, and gets the text of the query."""

    def start(_name: str, order: Order, timeout: float, server: Server) -> measure.Answer:
        task = order.task
        job = {"fit": fit, "url": order.url, "setting": order.setting, **asked(order.url, task)}
        job |= {"label": task.label, "categorical": task.categorical, "lam": task.lam}
        answer = measure.timed([sys.executable, "-m", "bench.races.alone"], json.dumps(job), timeout, server)
        if answer.said is None:
            return answer
        return replace(answer, said={"outcome": asdict(Outcome(answer.said, order.setting))})

    return start


def choice(fit: str, grid: Sequence[grids.Setting]) -> Callable[[Order], Outcome]:
    """Of the first setting that reaches the objective."""

    def run(order: Order) -> Outcome:
        task = order.task
        found = matrix(task.label, task.categorical, exported(order.url, task))
        trial = grids.tuned(
            grid, lambda s: FITS[fit](found, task.lam, s), lambda b: found.objective(b, task.lam), order.target
        )
        return Outcome(None, trial.setting)

    return run


# -- a sample of the join, then LIBLINEAR ------------------------------------------------------------------------------


def sampled(order: Order) -> Outcome:
    """The sample is sqlsvm's own: uniform over the join, without making it. Nothing is known of what it misses."""
    lam = order.task.lam
    with ExitStack() as opened:
        engine = opened.enter_context(connect(order.url))
        query = labelled(engine, order.task.text, order.task.options)
        work = opened.enter_context(workspace(engine))
        problem: Data = prepared(work, query, order.task.options)
        oracle = JoinOracle(problem)

        def fit(setting: grids.Setting) -> Values:
            sample = oracle.sample(int(setting["rows"]), 0)
            nothing = np.zeros(0)
            data = Matrix(sample.rows.dense(), sample.signs, (), nothing, nothing, {})
            return FITS["liblinear"](data, lam, {"tol": 0.01})

        def objective(beta: Values) -> float:
            cut = oracle.pass_(beta, BUCKETS)
            return cut.value_low + cut.error + lam * float(beta @ beta)

        trial = grids.tuned(grids.SAMPLE, fit, objective, order.target, order.setting)
        return Outcome(named(problem, problem.scaling.to_raw(trial.beta)), trial.setting)


def named(problem: Data, theta: Values) -> dict[str, Any]:
    """Raw weights by name."""
    design = problem.plan.design
    intercept, weights = 0.0, dict[str, Any]()
    for c in design.coordinates:
        if c.role == "intercept":
            intercept = float(theta[c.index])
        elif c.role == "value":
            weights[c.feature] = float(theta[c.index])
    for d in design.dictionaries:
        shares = theta[d.offset : d.offset + len(d.categories)].tolist()
        weights[d.feature] = dict(zip(map(str, d.categories), shares, strict=True))
    return {"intercept": intercept, "weights": weights}


def scaled(problem: Data, given: Given) -> Values:
    """The inverse of `named`, on the features as they are scaled."""
    raw = read_beta(problem.scaling, given)
    theta = np.zeros(problem.plan.design.size)
    for e in problem.scaling.elements():
        theta[e.index] = raw[e.place]
    return problem.scaling.to_scaled(theta)


# -- aggregates over the join ------------------------------------------------------------------------------------------


def flat_passes(order: Order) -> Outcome:
    """Our solver over hand-written aggregates."""
    with connect(order.url) as engine:
        oracle = FlatOracle(engine, order.task)
        effort = Effort(tol=order.tol, max_passes=30)
        solution = dane.solve(oracle, L2(order.task.lam), effort)
    raw = oracle.raw(solution.beta)
    model = {"intercept": float(raw[0]), "weights": dict(zip(oracle.names, raw[1:].tolist(), strict=True))}
    proof = {**asdict(solution.certificate), "gap": solution.certificate.gap}
    history = [as_json(record) for record in solution.history]
    return Outcome(model, None, proof, history, oracle.n)


def with_madlib(order: Order) -> Outcome:
    """The table of rows is made anew wherever the next settings want them in another order."""
    lam, began = order.task.lam, perf_counter()
    found: list[tuple[float, Outcome]] = []
    grid = [order.setting] if order.setting else grids.MADLIB
    for shuffled, settings in groupby(grid, key=itemgetter("shuffled")):
        with connect(order.url) as engine, madlib.clean(engine):
            rows = madlib.prepare(engine, order.task, shuffled)
            trial = grids.tuned(
                list(settings),
                lambda setting: madlib.train(order.url, rows.rows, lam, setting),  # noqa: B023
                lambda beta: madlib.objective(engine, lam, beta),
                order.target,
                order.setting,
            )
        model = rows.given(trial.beta)
        found.append((trial.objective, Outcome(model, trial.setting, join_rows=float(rows.rows))))
        if trial.objective <= order.target or perf_counter() - began > grids.PATIENCE:
            break
    return min(found, key=lambda f: f[0])[1]


# -- the list ----------------------------------------------------------------------------------------------------------


def export_and(
    name: str, engine: Literal["postgres", "duckdb"], fit: str, grid: Sequence[grids.Setting], **more: Any
) -> Competitor:
    return Competitor(name, engine, tuned_first(alone(fit)), choice(fit, grid), needs="matrix", **more)


TUNED = tuned_first(in_worker)

COMPETITORS: dict[str, Competitor] = {
    c.name: c
    for c in (
        Competitor("sqlsvm", "postgres", sqlsvm()),
        Competitor("sqlsvm, offloaded", "postgres", sqlsvm("--offload")),
        Competitor("sqlsvm, DuckDB", "duckdb", sqlsvm()),
        export_and("export + LIBLINEAR", "postgres", "liblinear", grids.LIBLINEAR),
        export_and("export + SGD", "postgres", "sgd", grids.SGD),
        export_and("export + ReHLine", "postgres", "rehline", grids.REHLINE, numbers_only=True),
        Competitor("export + LightGBM", "postgres", alone("lightgbm"), needs="matrix"),
        Competitor("sample + LIBLINEAR", "postgres", TUNED, sampled),
        Competitor("sample + LIBLINEAR, DuckDB", "duckdb", TUNED, sampled),
        Competitor("flat passes", "postgres", in_worker, flat_passes, "join", True),
        Competitor("flat passes, DuckDB", "duckdb", in_worker, flat_passes, "join", True),
        Competitor("MADlib", "postgres", TUNED, with_madlib, "join"),
        export_and("export + LIBLINEAR, DuckDB", "duckdb", "liblinear", grids.LIBLINEAR),
        Competitor("export + LightGBM, DuckDB", "duckdb", alone("lightgbm"), needs="matrix"),
    )
}
