"""The competitors. Each gets a task and a database, and gives a model on the original columns with its times.

F is the same function for all: scaled features, mean hinge + lam |beta|^2, the intercept penalised. So LIBLINEAR and
ReHLine get C = 1 / (2 lam N), and SGD alpha = 2 lam.
"""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from io import StringIO
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Literal

import numpy as np

from bench.races import grids, madlib
from bench.races.export import exported
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
    later: int = 0
    """So many rows of the label's table are held out: one that gives no weights says how good it is on them."""
    later_url: str = ""


@dataclass(frozen=True)
class Outcome:
    """What it gave. `proof` is None where there is none."""

    model: dict[str, Any] | None
    parts: dict[str, float]
    setting: grids.Setting | None = None
    proof: dict[str, float] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    join_rows: float | None = None
    note: str = ""
    auc: float | None = None

    @property
    def seconds(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True)
class Competitor:
    name: str
    engine: Literal["postgres", "duckdb"]
    run: Callable[[Order], Outcome]
    needs: Literal["tables", "join", "matrix"] = "tables"
    """What it must be able to go through: the tables, the rows of the join, or all of them in memory."""
    numbers_only: bool = False
    libraries: tuple[str, ...] = ()
    """What it imports as it trains: read before the clock starts, because scikit-learn takes a second."""
    is_ours: bool = True
    """Is something of sqlsvm in it? An export, written by hand, needs no more than the driver and numpy."""

    def read_libraries(self) -> None:
        for name in (f"sqlsvm.engine.{self.engine}", f"sqlglot.dialects.{self.engine}", *self.libraries):
            import_module(name)

    @property
    def imports(self) -> tuple[str, ...]:
        """Those of a program that does only this."""
        ours = f"sqlsvm.engine.{self.engine}", f"sqlglot.dialects.{self.engine}"
        drivers = {"postgres": "psycopg", "duckdb": "duckdb"}
        return (*(ours if self.is_ours else (drivers[self.engine], "numpy")), *self.libraries)


class Clock:
    """Seconds by the name of what was done."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        began = perf_counter()
        found = work()
        self.parts[name] = self.parts.get(name, 0.0) + perf_counter() - began
        return found


# -- sqlsvm ------------------------------------------------------------------------------------------------------------


def sqlsvm(*more: str) -> Callable[[Order], Outcome]:
    """The command that a user would type."""

    def run(order: Order) -> Outcome:
        from sqlsvm.cli import run as command

        task, began = order.task, perf_counter()
        options = {"--dsn": order.url, "--query": task.text, "--label": task.label, "--nulls": task.nulls}
        arguments = [word for pair in options.items() for word in pair]
        arguments += ["--lambda", str(task.lam), "--tol", str(order.tol), *more]
        arguments += [word for name in task.categorical for word in ("--categorical", name)]
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.json")
            with redirect_stdout(StringIO()):
                code = command(["train", *arguments, "--name", "bench", "--model-file", str(path)])
            seconds = perf_counter() - began
            if not path.exists():
                raise SystemExit(code)
            return _outcome(Model.from_json(json.loads(path.read_text(encoding="utf-8"))), seconds)

    return run


def _outcome(model: Model, seconds: float) -> Outcome:
    proof = {name: getattr(model, name) for name in ("objective", "objective_upper", "lower_bound", "gap")}
    parts = {**model.phases, "the rest": seconds - sum(model.phases.values())}
    history = [dict(record) for record in model.history]
    return Outcome(_given(model.weights, model.intercept), parts, None, proof, history, model.join_rows)


def _given(weights: Sequence[Any], intercept: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for w in weights:
        if w.category is None:
            found[w.feature] = w.weight
        else:
            found.setdefault(w.feature, {})[str(w.category)] = w.weight
    return {"intercept": intercept, "weights": found}


# -- export, then a solver in memory -----------------------------------------------------------------------------------

Fit = Callable[[Matrix, float, grids.Setting], Values]


def export_and(fit: Fit, grid: Sequence[grids.Setting]) -> Callable[[Order], Outcome]:
    def run(order: Order) -> Outcome:
        clock, lam = Clock(), order.task.lam
        columns = [clock.time("export", lambda: exported(order.url, order.task))]
        found: Matrix = clock.time("scale", lambda: matrix(order.task, columns.pop()))
        trial = grids.tuned(
            grid, lambda s: fit(found, lam, s), lambda b: found.objective(b, lam), order.target, order.setting
        )
        parts = {**clock.parts, "fit": trial.seconds}
        return Outcome(found.given(trial.beta), parts, trial.setting, join_rows=float(found.rows))

    return run


def liblinear(data: Matrix, lam: float, setting: grids.Setting) -> Values:
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        loss="hinge", C=1.0 / (2.0 * lam * data.rows), fit_intercept=False, max_iter=2000, random_state=0, **setting
    )
    return _fitted(model, data)


def sgd(data: Matrix, lam: float, setting: grids.Setting) -> Values:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="hinge", alpha=2.0 * lam, fit_intercept=False, tol=None, random_state=0, **setting)
    return _fitted(model, data)


def rehline(data: Matrix, lam: float, setting: grids.Setting) -> Values:
    from rehline import plqERM_Ridge

    if not isinstance(data.x, np.ndarray):
        raise MemoryError("ReHLine needs a dense matrix")
    model = plqERM_Ridge(loss={"name": "svm"}, C=1.0 / (2.0 * lam * data.rows), **setting)
    return _fitted(model, data)


def lightgbm(order: Order) -> Outcome:
    """With its defaults. Its trees have another objective: what is compared are the time and the rows held out."""
    import lightgbm as peer

    clock, codes = Clock(), dict[str, Values]()
    columns = clock.time("export", lambda: exported(order.url, order.task))
    y = columns.pop(order.task.label) > 0
    text = [n for n, cells in columns.items() if n in order.task.categorical or cells.dtype.kind in "OSU"]

    def numbers(cells: Mapping[str, Values]) -> Values:
        return np.column_stack([_places(cells[n], codes[n]) if n in text else cells[n] for n in columns])

    def prepared() -> Any:
        codes.update((n, np.unique(_plain(columns[n]))) for n in text)
        places = [place for place, n in enumerate(columns) if n in text]
        return peer.Dataset(numbers(columns), y, categorical_feature=places)

    data = clock.time("prepare", prepared)
    model = clock.time("fit", lambda: peer.train({"objective": "binary", "verbosity": -1, "seed": 0}, data, 100))
    auc = None
    if order.later:
        later = exported(order.later_url, replace(order.task, later=order.later))
        auc = area(later[order.task.label] > 0, model.predict(numbers(later), raw_score=True))
    return Outcome(None, clock.parts, join_rows=float(len(y)), note="100 trees of 31 leaves", auc=auc)


def _plain(cells: Values) -> Values:
    return cells.astype(np.int64) if cells.dtype.kind in "if" else cells.astype(str)


def _places(cells: Values, known: Values) -> Values:
    """NaN for a category that is new."""
    cells = _plain(cells)
    places = np.minimum(np.searchsorted(known, cells), len(known) - 1)
    return np.where(known[places] == cells, places.astype(float), np.nan)


def area(is_positive: Values, scores: Any) -> float | None:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(is_positive, scores)) if is_positive.any() and not is_positive.all() else None


def _fitted(model: Any, data: Matrix) -> Values:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what did not converge is seen by its objective
        model.fit(data.x, data.y)
    return np.asarray(model.coef_, dtype=float).ravel()


# -- a sample of the join, then LIBLINEAR ------------------------------------------------------------------------------


def sampled(order: Order) -> Outcome:
    """The sample is sqlsvm's own: uniform over the join, without making it. Nothing is known of what it misses."""
    clock, lam = Clock(), order.task.lam
    with ExitStack() as opened:
        engine = clock.time("open", lambda: opened.enter_context(connect(order.url)))
        query = clock.time("open", lambda: labelled(engine, order.task.text, order.task.options))
        work = clock.time("open", lambda: opened.enter_context(workspace(engine)))
        problem: Data = clock.time("open", lambda: prepared(work, query, order.task.options))
        oracle = JoinOracle(problem)

        def fit(setting: grids.Setting) -> Values:
            sample = oracle.sample(int(setting["rows"]), 0)
            nothing = np.zeros(0)
            data = Matrix(sample.rows.dense(), sample.signs, (), nothing, nothing, {})
            return liblinear(data, lam, {"tol": 0.01})

        def objective(beta: Values) -> float:
            cut = oracle.pass_(beta, BUCKETS)
            return cut.value_low + cut.error + lam * float(beta @ beta)

        trial = grids.tuned(grids.SAMPLE, fit, objective, order.target, order.setting)
        model = named(problem, problem.scaling.to_raw(trial.beta))
        clock.time("close", opened.close)
    return Outcome(model, {**clock.parts, "sample and fit": trial.seconds}, trial.setting)


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
    """On the features as they are scaled."""
    return problem.scaling.to_scaled(raw(problem, given))


def raw(problem: Data, given: Given) -> Values:
    """The inverse of `named`."""
    found = read_beta(problem.scaling, given)
    theta = np.zeros(problem.plan.design.size)
    for e in problem.scaling.elements():
        theta[e.index] = found[e.place]
    return theta


# -- aggregates over the join ------------------------------------------------------------------------------------------


def flat_passes(order: Order) -> Outcome:
    """Our solver over hand-written aggregates."""
    clock = Clock()
    with ExitStack() as opened:
        engine = clock.time("open", lambda: opened.enter_context(connect(order.url)))
        oracle = clock.time("moments", lambda: FlatOracle(engine, order.task))
        effort = Effort(tol=order.tol, max_passes=30)
        solution = clock.time("solve", lambda: dane.solve(oracle, L2(order.task.lam), effort))
        clock.time("close", opened.close)
    raw = oracle.raw(solution.beta)
    model = {"intercept": float(raw[0]), "weights": dict(zip(oracle.names, raw[1:].tolist(), strict=True))}
    proof = {**asdict(solution.certificate), "gap": solution.certificate.gap}
    history = [as_json(record) for record in solution.history]
    return Outcome(model, clock.parts, None, proof, history, oracle.n)


def with_madlib(order: Order) -> Outcome:
    """The table of rows is made anew wherever the next settings want them in another order."""
    lam, began = order.task.lam, perf_counter()
    found: list[tuple[float, Outcome]] = []
    grid = [order.setting] if order.setting else grids.MADLIB
    for shuffled, settings in groupby(grid, key=itemgetter("shuffled")):
        clock = Clock()
        with clock.time("open", lambda: connect(order.url)) as engine, madlib.clean(engine):
            rows = clock.time("make the table", lambda: madlib.prepare(engine, order.task, shuffled))  # noqa: B023
            trial = grids.tuned(
                list(settings),
                lambda setting: madlib.train(order.url, rows.rows, lam, setting),  # noqa: B023
                lambda beta: madlib.objective(engine, lam, beta),
                order.target,
                order.setting,
            )
        parts, model = {**clock.parts, "train": trial.seconds}, rows.given(trial.beta)
        found.append((trial.objective, Outcome(model, parts, trial.setting, join_rows=float(rows.rows))))
        if trial.objective <= order.target or perf_counter() - began > grids.PATIENCE:
            break
    return min(found, key=lambda f: f[0])[1]


# -- the list ----------------------------------------------------------------------------------------------------------

OURS = (
    "sqlsvm.cli",
    "sqlsvm.run.ahead",
    "sqlsvm.run.train",
    "sqlsvm.run.join_oracle",
    "sqlsvm.show.training",
    "sqlsvm.store",
)
SVM, LINEAR, TREES = ("sklearn.svm",), ("sklearn.linear_model",), ("lightgbm",)
SAMPLE, FLAT = (*SVM, "sqlsvm.run.join_oracle", "sqlsvm.run.opening"), ("sqlsvm.solve.dane",)
EXPORTED = export_and(liblinear, grids.LIBLINEAR)

COMPETITORS: dict[str, Competitor] = {
    c.name: c
    for c in (
        Competitor("sqlsvm", "postgres", sqlsvm(), libraries=OURS),
        Competitor("sqlsvm, offloaded", "postgres", sqlsvm("--offload"), libraries=(*OURS, "sqlsvm.engine.duckdb")),
        Competitor("sqlsvm, DuckDB", "duckdb", sqlsvm(), libraries=OURS),
        Competitor("export + LIBLINEAR", "postgres", EXPORTED, "matrix", False, SVM, False),
        Competitor("export + SGD", "postgres", export_and(sgd, grids.SGD), "matrix", False, LINEAR, False),
        Competitor(
            "export + ReHLine", "postgres", export_and(rehline, grids.REHLINE), "matrix", True, ("rehline",), False
        ),
        Competitor("export + LightGBM", "postgres", lightgbm, "matrix", False, TREES, False),
        Competitor("export + LightGBM, DuckDB", "duckdb", lightgbm, "matrix", False, TREES, False),
        Competitor("sample + LIBLINEAR", "postgres", sampled, libraries=SAMPLE),
        Competitor("sample + LIBLINEAR, DuckDB", "duckdb", sampled, libraries=SAMPLE),
        Competitor("flat passes", "postgres", flat_passes, "join", True, FLAT),
        Competitor("flat passes, DuckDB", "duckdb", flat_passes, "join", True, FLAT),
        Competitor("MADlib", "postgres", with_madlib, "join", is_ours=False),
        Competitor("export + LIBLINEAR, DuckDB", "duckdb", EXPORTED, "matrix", False, SVM, False),
    )
}
