"""Training end to end: a problem is opened, a solver makes passes, a model with its certificate comes out."""

import hashlib
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from sqlsvm.engine.base import Engine, Values
from sqlsvm.errors import OptionError
from sqlsvm.model import Model, Weight
from sqlsvm.predict import read_label_values
from sqlsvm.problem import Options, Problem, labelled, prepared
from sqlsvm.program import workspace
from sqlsvm.pseudo import PseudoJoinOracle
from sqlsvm.solve import bundle, dane, descent
from sqlsvm.solve.solution import OnPass, Record, Solution
from sqlsvm.solve.solution import Options as Effort

Solver = Literal["dane", "bundle", "descent"]


@dataclass(frozen=True)
class Training:
    """How to train; the names are those of the command line."""

    problem: Options
    lam: float = 1e-4
    solver: Solver = "dane"
    effort: Effort = field(default_factory=Effort)

    def __post_init__(self) -> None:
        if not self.lam > 0:
            raise OptionError(f"lambda must be positive, not {self.lam:g}", hint="try --lambda 1e-4")
        if self.solver == "descent" and self.problem.scale == "standard":
            raise OptionError("descent needs features in [-1, 1]", hint="use --scale maxabs")
        if self.solver != "descent" and self.problem.counting == "sketch":
            raise OptionError(
                "sketched counts prove nothing: they are no cuts", hint="use --solver descent, or --counting grid"
            )


def train(engine: Engine, name: str, text: str, training: Training, on_pass: OnPass | None = None) -> Model:
    """Everything happens on one snapshot of the data, and leaves nothing behind in the database but what it was."""
    query = labelled(engine, text, training.problem)
    with workspace(engine) as work:
        problem = prepared(work, query, training.problem)
        solution = solve(problem, training, on_pass)
        return model_of(engine, name, text, problem, training, solution)


def solve(problem: Problem, training: Training, on_pass: OnPass | None = None) -> Solution:
    oracle = problem.oracle
    if training.solver == "descent":
        pseudo = PseudoJoinOracle(oracle.work, problem.plan, problem.moments, oracle.scaling)
        return descent.solve(pseudo, training.lam, training.effort, on_pass)
    chosen = dane.solve if training.solver == "dane" else bundle.solve
    return chosen(oracle, training.lam, training.effort, on_pass)


# -- the model ---------------------------------------------------------------------------------------------------------


def model_of(engine: Engine, name: str, text: str, problem: Problem, training: Training, solution: Solution) -> Model:
    proof, rows = solution.certificate, _label_rows(problem)
    theta = problem.oracle.scaling.to_raw(solution.beta)
    intercept = next((theta[c.index] for c in problem.plan.design.coordinates if c.role == "intercept"), 0.0)
    return Model(
        name=name,
        engine=engine.version,
        query=text,
        dialect=engine.dialect,
        label=problem.plan.design.label.name,
        positive=training.problem.positive,
        lam=training.lam,
        solver=training.solver,
        counting=problem.plan.method,
        nulls=training.problem.nulls,
        bags=len(problem.plan.bags),
        join_rows=sum(rows.values()),
        label_rows=rows,
        passes=len(solution.history),
        seconds=sum(record.seconds for record in solution.history),
        objective=proof.objective,
        objective_upper=proof.objective_upper,
        lower_bound=proof.lower_bound,
        gap=proof.gap,
        converged=solution.converged,
        intercept=float(intercept),
        weights=tuple(_weights(problem, theta, solution.beta, training.problem.nulls)),
        history=tuple(as_json(record) for record in solution.history),
        options=asdict(training),
        trained_on=_trained_on(engine, text, problem),
    )


def as_json(record: Record) -> dict[str, Any]:
    found = asdict(record)
    return {"pass": found.pop("pass_"), **found}


def _label_rows(problem: Problem) -> dict[str, float]:
    """Class weights aside, which are a matter of training; a row of weight w still counts as w rows."""
    design, moments = problem.plan.design, problem.moments
    counts = (moments.n_negative, moments.n - moments.n_negative)
    rows = [count / weight for count, weight in zip(counts, design.class_weights, strict=True)]
    negative, positive = rows if design.weight else (float(round(n)) for n in rows)
    return {"-1": negative, "1": positive}


def _weights(problem: Problem, theta: Values, beta: Values, nulls: str) -> list[Weight]:
    """On the user's columns: what theta says of a raw coordinate, and what a NULL in it counts as."""
    design, moments, scaling = problem.plan.design, problem.moments, problem.oracle.scaling
    missing = {c.feature: c.index for c in design.coordinates if c.role == "missing"}
    found = []
    for row, index in enumerate(scaling.kept):
        c = design.coordinates[index]
        if c.role == "value":
            absent = moments.total[missing[c.feature]] if c.feature in missing else 0.0
            present = moments.n - absent
            mean = float(moments.total[index] / present) if nulls == "mean" and present > 0 else None
            found.append(Weight(c.feature, None, float(theta[index]), float(beta[row]), mean))
    place = len(scaling.kept)
    for d in design.dictionaries:
        for n, category in enumerate(d.categories):
            weight = float(beta[place + n])
            found.append(Weight(d.feature, category, weight, weight))
        place += len(d.categories)
    return found


def _trained_on(engine: Engine, text: str, problem: Problem) -> dict[str, Any]:
    query = problem.query
    return {
        "fingerprint": hashlib.sha256(text.encode()).hexdigest()[:16],
        "rows": {r.alias: problem.catalog.rows(r.alias) for r in query.relations},
        "booleans": [f.name for f in query.features if f.kind == "boolean"],
        "label_values": list(read_label_values(engine, query, problem.plan.design.sign)),
        "database": engine.url,
        "versions": {name: package_version(name) for name in ("sqlsvm", "sqlglot")},
    }


def package_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
