"""From what a solver found to a model, on the columns of the user."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import repeat
from typing import Any

import numpy as np

from sqlsvm.engine.base import Engine
from sqlsvm.model.model import IN_MEMORY, ByLabel, FeatureScale, Held, Model, TrainedOn
from sqlsvm.model.weights import Weights
from sqlsvm.options import MEANS
from sqlsvm.plan.design import Design
from sqlsvm.plan.scaling import Moments, means
from sqlsvm.plan.target import Binary, Target, read_label_values
from sqlsvm.query import FeatureQuery
from sqlsvm.query.read_query import meanings
from sqlsvm.run.data import Data
from sqlsvm.run.in_memory import Drawn
from sqlsvm.run.notes import DOUBLES, constants, ids, made_once, moving, nulls, one_class, only_class, predicts_one
from sqlsvm.run.problems import Problem
from sqlsvm.run.rounding import is_far
from sqlsvm.run.training import Training
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import Record, Solution
from sqlsvm.times import TIMES


def model_of(
    engine: Engine,
    name: str,
    text: str,
    training: Training,
    known: TrainedOn,
    asked: Problem,
    solution: Solution,
    left_out: Moments | None = None,
    some: Drawn | None = None,
    threshold: float = 0.0,
) -> Model:
    """`left_out`: of the rows held out. `some`: rows of the join that are in memory."""
    problem, penalty = asked.data, asked.penalty
    proof, design = solution.certificate, problem.plan.design
    rows = _label_rows(problem.moments, design)
    unweighted = replace(design, target=replace(design.target, class_weights=(1.0, 1.0)))
    held_out: ByLabel = {} if left_out is None else _label_rows(left_out, unweighted)
    scaling, beta = problem.scaling, solution.beta
    constant = next((e for e in scaling.numbers if not e.feature), None)
    guessed = _guessed(training, design.target, known.label_values)
    scales = {e.feature: FeatureScale(*scaling.scale(e)) for e in scaling.numbers if e.feature}
    theta, centre = scaling.to_raw(beta), design.target.centre
    return Model(
        name=name,
        engine=database_of(engine, problem.work.engine),
        query=problem.query.text,
        dialect=engine.dialect,
        label=design.target.label.name,
        positive=str(known.label_values[1]) if guessed else training.positive,
        lam=training.lam,
        solver=training.solver,
        counting=problem.plan.method if problem.drawn is None else IN_MEMORY,
        nulls=training.nulls,
        bags=len(problem.plan.bags),
        join_rows=sum(rows.values()) if rows else _whole(problem.moments.n, design),
        label_rows=rows,
        passes=len(solution.history),
        seconds=sum(record.seconds for record in solution.history),
        **asdict(proof),
        gap=proof.gap,
        converged=solution.converged,
        intercept=float(design.moved(theta)[constant.index]) + centre if constant else 0.0,
        base=float(theta[constant.index]) if constant and is_far(problem) else None,
        weights=_weights(problem, beta, training.nulls),
        label_centre=design.target.centre,
        label_width=scaling.label,
        threshold=threshold,
        scaled_intercept=float(beta[constant.place]) if constant else 0.0,
        constraints=tuple(Held(*row) for row in penalty.held(beta)),
        scaling=scales,
        notes=tuple(_notes(problem, training, penalty, solution, known.label_values, some, threshold)),
        history=tuple(as_json(record) for record in solution.history),
        options=training.kept,
        maps=problem.query.maps,
        trained_on=replace(known, held_out=held_out),
    )


def _guessed(training: Training, target: Target, values: tuple[object, ...]) -> bool:
    """Has the label two values, of which none was named as the positive one, and none is it as a matter of course?"""
    if training.positive is not None or not isinstance(target, Binary) or target.label.kind == "boolean":
        return False
    return not any({*values} <= usual for usual in ({0, 1, None}, {-1, 1, None}))


def database_of(engine: Engine, here: Engine) -> str:
    return engine.version if here is engine else f"{here.version}, offloaded from {engine.version}"


def as_json(record: Record) -> dict[str, Any]:
    found = asdict(record)
    return {"pass": found.pop("pass_"), **found}


def _label_rows(moments: Moments, design: Design) -> ByLabel:
    """The rows of each class, without class weights. A row of weight w counts as w rows."""
    by_class = design.target.by_class(moments.n, moments.n_negative, moments.of_codes)
    return {label: _whole(n, design) for label, n in by_class.items()}


def _whole(rows: float, design: Design) -> float:
    return rows if design.weight else float(round(rows))


def _weights(problem: Data, beta: Array, nulls: str) -> Weights:
    """On the user's columns: the weight of each raw coordinate, and the number that replaces a NULL in it. Those of
    categories are the last ones."""
    scaling = problem.scaling
    design, theta = scaling.design, scaling.to_raw(beta)
    filled: dict[str, float | None] = {**means(design, problem.moments)} if nulls in MEANS else {}
    filled |= {
        name: each.otherwise for each in problem.query.maps if each.otherwise is not None for name in each.formulas
    }
    numbers = [e for e in scaling.numbers if e.feature]
    features, categories = [e.feature for e in numbers], list[object](repeat(None, len(numbers)))
    missing = [filled.get(feature) for feature in features]
    for d in design.dictionaries:
        features += repeat(d.feature, len(d.categories))
        categories += d.categories
    missing += repeat(None, len(features) - len(numbers))
    values = np.concatenate([theta[[e.index for e in numbers]], theta[len(design.coordinates) :]])
    scaled = np.concatenate([beta[[e.place for e in numbers]], beta[len(scaling.numbers) :]])
    return Weights(features, categories, values, scaled, missing)


def _notes(
    problem: Data,
    training: Training,
    penalty: Penalty,
    solution: Solution,
    label_values: tuple[object, ...],
    some: Drawn | None,
    threshold: float,
) -> Iterator[str]:
    """What the command line says after a training, and what to try."""
    beta = solution.beta
    decided = beta.copy()
    decided[[e.place for e in problem.scaling.numbers if not e.feature]] -= threshold
    if problem.in_group and problem.drawn:  # there may be very many: the model says the rest once
        signed = problem.plan.design.target.signed
        if one := one_class(problem.drawn, decided) if signed else None:
            yield predicts_one(label_values[one > 0])
        yield from _of_proof(training, solution)
        return
    yield from made_once(problem.query)
    yield from dict.fromkeys(f"{f.name} is a second output called {f.twin}" for f in problem.query.features if f.twin)
    yield from nulls(problem)
    if _guessed(training, target := problem.plan.design.target, label_values):
        no, yes = label_values
        yield f"{target.label.name} is {no!r} or {yes!r}: {yes!r} is the positive class, unless ⟦positive⟧ names it"
    yield from ids(problem)
    yield from moving(problem.query)
    if training.is_kernel:
        if training.kernel == "sigmoid":
            yield "the sigmoid kernel is no inner product, so there is no lower bound"
        return
    yield from constants(problem, beta)
    yield from (each.note for each in problem.query.maps if each.note)
    read = {output.name for output in problem.query.outputs}
    yield from (f"{name} is a number: {TIMES[t].said}" for name, t in problem.query.times.items() if name in read)
    yield from _of_proof(training, solution)
    if problem.plan.design.target.classes:  # where one of many is rare, no row may be its
        return
    if only := only_class(problem, replace(solution, beta=decided), penalty, some):
        said = predicts_one(label_values[only > 0])
        as_they_are = training.class_weight == "none"
        yield f"{said}: try {'⟦class_weight balanced⟧' if as_they_are else 'other features, or a smaller ⟦lam⟧'}"


def _of_proof(training: Training, solution: Solution) -> Iterator[str]:
    """Where a gap says less than it seems to."""
    proof = solution.certificate
    if solution.converged and proof.gap > training.tol and training.solver != "descent":
        said = f"the objective is at most {proof.objective_upper:.2g}"
        yield f"{said}, which is what rounding may add to sums of such numbers: it may be 0"
    if not proof.objective_upper:
        yield "the objective is 0: no weights can be better"
    if not solution.converged and solution.parts and solution.parts.largest == "rounding":
        share = solution.parts.rounding
        yield f"{share:.2g} of the gap {DOUBLES}"


def trained_on(engine: Engine, text: str, problem: Data) -> TrainedOn:
    query, target = problem.query, problem.plan.design.target
    values = read_label_values(problem.work.engine, query, target, shortest=engine.abilities.shortest)
    rows = {r.alias: problem.catalog.rows(r.alias) for r in query.relations}
    return replace(facts(engine, query, text, values), rows=rows, database=engine.url)


def facts(engine: Engine, query: FeatureQuery, text: str, label_values: tuple[object, ...]) -> TrainedOn:
    """What is known of every training of a query."""
    return TrainedOn(
        typed=None if query.text == text else text,
        names=meanings(engine, query.text),
        zone=engine.zone,
        fingerprint=hashlib.sha256(text.encode()).hexdigest()[:16],
        relations=_relations(query),
        booleans=tuple(f.name for f in query.features if f.kind == "boolean"),
        padded=tuple(f.name for f in query.features if f.spelling == "padded"),
        caseless=tuple(f.name for f in query.features if f.spelling == "caseless"),
        times=dict(query.times),
        label_values=label_values,
        versions=versions(),
    )


def _relations(query: FeatureQuery) -> dict[str, str]:
    """Of each feature, also of a category. A sum has several."""
    return {f.name: f.relation for f in query.features} | {
        name: ", ".join(term.relation for term in terms) for name, terms in query.sums.items()
    }


def versions() -> dict[str, str | None]:
    return {name: _version(name) for name in ("sqlsvm", "sqlglot")}


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
