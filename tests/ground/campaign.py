"""Random trainings, checked on every row of their joins: `python -m tests.campaign` runs many, and counts.

lower bound <= F of an independent solver;  F(model) by brute force between objective and its upper bound, also with
the scores that predict returns, where no digit is forgiven;
converged is a gap of at most tol, or a note of what rounding may add;  evaluate is what the rows say.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl

from sqlsvm.ask.evaluate import measure
from sqlsvm.ask.rows import on_all
from sqlsvm.ask.validation import Validation
from sqlsvm.engine.base import Engine, Rows, StatementError, Text, Values
from sqlsvm.engine.given import opened
from sqlsvm.errors import DataError, OptionError, QueryError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import NUMBER_LOSSES
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.rules import named
from sqlsvm.run.resume import Continuation, Saved
from sqlsvm.run.train import train_each
from sqlsvm.run.training import Training
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.solution import OnPass, Record
from sqlsvm.store import open_store
from tests.ground.brute import design, joined, numbers, penalised, psi
from tests.ground.convex import optimum
from tests.ground.joins import Join, words
from tests.ground.trained import sensible

LOSSES = ("hinge", "hinge", "squared_hinge", "smooth_hinge", "logistic", "absolute", "squared", "huber", "quantile")
CLOSE = 1e-5
"""How far doubles may put off what is computed from columns that are far from 0, as a share of F."""
SMALL = 1e-7
"""The cone solver knows its optimum up to this share."""
VARIED = 100_000
"""Seeds from here on also have maps, options without a name given, a fair covariance, PostgreSQL and psql."""
STRANGE = 200_000
"""Seeds from here on also have odd names, NaN, reals, skewed keys, tables of a row or none, one pass, time splits."""
GIVEN = 300_000
"""Seeds from here on also have keys that are texts or reals, frames and ibis, trainings that are interrupted and go on;
of the rest of STRANGE, one in three."""
MANY = 500_000
"""Seeds from here on cost less: few trainings are out of memory, are interrupted, read frames, or are evaluated."""
FRAMES = "pandas", "polars", "lists", "ibis"
NAMES = ("", "NULL", "it's", 'a "quoted" one', "%s", "\\", "größe", "$1; --", " a", "a ")
EXACT = 1e-10
"""What numpy loses in the sum of a few hundred rows, as a share."""
PASSES, PROGRAM = 40, "campaign"


@dataclass(frozen=True)
class Case:
    seed: int
    join: Join
    options: dict[str, Any]
    shape: str
    free: bool
    unnamed: tuple[str, ...] = ()
    place: str = "duckdb"
    given: str = ""
    """Frames in place of tables, of one of FRAMES."""
    stopped: int = 0
    """Interrupted after so many passes, and resumed."""

    @property
    def trained(self) -> Training:
        return sensible(**named({**self.options, **dict.fromkeys(self.unnamed)}))

    @property
    def causes(self) -> tuple[str, ...]:
        """What is out of the ordinary."""
        options = self.options
        found = {
            f"--scale {options['scale']}": options["scale"] != "standard",
            f"--intercept {options['intercept']}": options["intercept"] is not True,
            "--solver bundle": options["solver"] == "bundle",
            "--l1": "l1" in options,
            "--constrain": "constrain" in options,
            "psql": self.place == "psql",
            "one pass": options["max_passes"] == 1,
        }
        return tuple(name for name, is_so in found.items() if is_so)

    @property
    def number(self) -> bool:
        return self.options["loss"] in NUMBER_LOSSES


def drawn(seed: int) -> Case:
    """The data and the options of a number."""
    rng = np.random.default_rng(seed)
    shape = str(rng.choice(["one", "star", "many", "chain", "parent"]))
    loss = str(rng.choice(LOSSES))
    number = loss in NUMBER_LOSSES
    rows = int(rng.integers(12, 60))
    classes = not number and rng.random() < 0.12
    x, keys = rng.normal(size=(rows, 3)), int(rng.integers(2, 9))
    signal = x[:, 0] - 0.5 * x[:, 1] + 0.5 * rng.normal(size=rows)
    label: Values = signal * far(rng) + (far(rng) if rng.random() < 0.3 else 0.0)
    if not number:
        label = words(np.digitize(signal, [-0.4, 0.4])) if classes else (signal > 0).astype(int)
    f: Rows = {"id": np.arange(rows), "k": rng.integers(0, keys, rows), "y": label, "g": np.arange(rows) % 3}
    for n in range(3):
        f[f"x{n}"] = column(rng, x[:, n])
    f["c"], f["w"] = words(rng.integers(0, 4, rows)), rng.integers(0, 4, rows).astype(float)
    if rng.random() < 0.3:
        f["x1"] = np.where(rng.random(rows) < 0.3, -1e-3, f["x1"])  # NULL, see below
    side = int(rng.integers(1, 4)) * keys
    b: Rows = {"k": np.arange(side) % keys, "j": rng.integers(0, 4, side), "z": column(rng, rng.normal(size=side))}
    e: Rows = {"j": np.arange(8) % 4, "q": column(rng, rng.normal(size=8))}
    d: Rows = {"k": np.arange(keys), "v": column(rng, rng.normal(size=keys))}
    own = ["f.x0", "NULLIF(f.x1, -1e-3) AS x1", "f.x2"][: int(rng.integers(1, 4))]
    own += ["f.c"] if rng.random() < 0.3 else []
    text, more = {
        "one": ("f", []),
        "star": ("f JOIN d ON d.k = f.k", ["d.v"]),
        "many": ("f JOIN b ON b.k = f.k", ["b.z"]),
        "chain": ("f JOIN b ON b.k = f.k JOIN e ON e.j = b.j", ["b.z", "e.q"]),
        "parent": ("b JOIN f ON f.id = b.k", ["b.z"]),
    }[shape]
    options: dict[str, Any] = {"label": "y", "loss": loss, "nulls": str(rng.choice(["mean", "drop"]))}
    extra = []
    if rng.random() < 0.2:
        extra.append("f.w")
        options["weight"] = "w"
    elif rng.random() < 0.1 and not number and not classes:
        options["class_weight"] = (1.0, 3.0) if rng.random() < 0.5 else "balanced"
    options["scale"] = str(rng.choice(["standard", "standard", "standard", "maxabs", "none"]))
    options["lam"] = float(10.0 ** rng.integers(-4, 1))
    options["intercept"] = [True, True, "free", False][int(rng.integers(4))]
    options["solver"] = "bundle" if rng.random() < 0.2 else "dane"
    options["counting"] = "grid" if shape in ("many", "chain") and rng.random() < 0.3 else "auto"
    options["max_passes"] = PASSES
    options["in_memory"] = 0 if rng.random() < (0.6 if seed < MANY else 0.2) else None
    if rng.random() < 0.25:
        options["l1"] = float(10.0 ** rng.integers(-4, 0))
    if rng.random() < 0.15:
        options["constrain"] = ("nonnegative",)
    split = rng.random()
    if split < 0.1 and not classes:
        options["by"] = "g"
        extra.append("f.g")
        options["solver"] = "dane"
    elif split < 0.2:
        options["folds"] = 2
    elif split < 0.3:
        options["holdout"] = 0.3
    selected = ", ".join(["f.y", *own, *more, *extra])
    kind = {True: "FLOAT8", False: "TEXT" if classes else "INT"}[number]
    script = f"""
        CREATE TABLE f (id INT, k INT, y {kind}, g INT, x0 FLOAT8, x1 FLOAT8, x2 FLOAT8, c TEXT, w FLOAT8);
        CREATE TABLE b (k INT, j INT, z FLOAT8); CREATE TABLE e (j INT, q FLOAT8); CREATE TABLE d (k INT, v FLOAT8)"""
    join = Join(script, {"f": f, "b": b, "e": e, "d": d}, f"SELECT {selected} FROM {text}")
    case = Case(seed, join, options, shape, options["intercept"] == "free")
    case = case if seed < VARIED else varied(case, own)
    if seed >= GIVEN:
        return given(case if seed % 3 else strange(case))
    return case if seed < STRANGE else strange(case)


def varied(case: Case, own: list[str]) -> Case:
    rng, options = np.random.default_rng((case.seed, 1)), dict(case.options)
    place = "psql" if case.seed % 50 == 7 else "postgres" if case.seed % 12 == 0 else "duckdb"
    unnamed: tuple[str, ...] = ()
    if place == "psql":
        options["solver"] = "dane"
        for name in ("folds", "holdout", "in_memory"):
            options.pop(name, None)
    elif rng.random() < 0.1:
        unnamed = ("lam",) if case.number or rng.random() < 0.5 else ("lam", "loss")
    if rng.random() < 0.12:
        maps = ["bins:x0:3", "spline:x0:3", "spline:x0:2:2:constant", "poly2:f", "fourier:f:2", "pca:2", "auto"]
        options["map"] = (str(rng.choice(maps[: 5 + len(own) - 1])),)
    if rng.random() < 0.08 and "x2" in case.join.query and place != "psql":
        options["constrain"] = ("fair:x2:0.1",)
    return replace(case, options=options, unnamed=unnamed, place=place)


def strange(case: Case) -> Case:
    rng, options, join = np.random.default_rng((case.seed, 2)), dict(case.options), case.join
    tables = {name: dict(columns) for name, columns in join.rows.items()}
    f, script = tables["f"], join.script
    f["c"] = np.array(NAMES, dtype=object)[rng.permutation(len(NAMES))[rng.integers(0, 4, len(f["c"]))]]
    odd = str(
        rng.choice(["nothing", "real", "skewed", "one row", "empty", "NaN", "infinite", "one pass", "time", "zeros"])
    )
    match odd:
        case "real":
            f["x2"] = f["x2"].astype(np.float32).astype(float)
            script = script.replace("x2 FLOAT8", "x2 REAL")
        case "skewed":
            f["k"] = np.minimum(rng.zipf(1.6, len(f["k"])) - 1, f["k"].max())
        case "one row" | "empty":
            name = str(rng.choice(["f", "b", "d", "e"]))
            tables[name] = {c: values[: int(odd == "one row")] for c, values in tables[name].items()}
        case "NaN" | "infinite":
            f["x0"] = f["x0"].copy()
            f["x0"][0] = np.nan if odd == "NaN" else np.inf
        case "one pass":
            options["max_passes"] = 1
        case "time" if case.shape != "parent" and "by" not in options:
            options |= {"time": "id", "holdout": 0.3}
            options.pop("folds", None)
        case "zeros":
            f["w"] = f["w"] * (rng.random(len(f["w"])) < 0.3)
    return replace(case, options=options, join=replace(join, script=script, rows=tables))


def given(case: Case) -> Case:
    """Keys of other types; other ways to come to the same training."""
    rng, join = np.random.default_rng((case.seed, 3)), case.join
    kind = rng.choice(["INT", "TEXT", "REAL"], p=[0.7, 0.15, 0.15])
    if kind != "INT" and case.shape != "parent":
        keys = {name: columns["k"] for name, columns in join.rows.items() if "k" in columns}
        made = {name: words(k) if kind == "TEXT" else (k + 0.1).astype(np.float32) for name, k in keys.items()}
        tables = {
            name: {**columns, "k": made[name]} if name in made else columns for name, columns in join.rows.items()
        }
        join = replace(
            join, script=join.script.replace(" k INT", f" k {kind}").replace("(k INT", f"(k {kind}"), rows=tables
        )
    case, one = replace(case, join=join), rng.random() * (2 if case.seed >= MANY else 1)
    if one < 0.1 and case.place == "duckdb":
        return replace(case, given=str(rng.choice(FRAMES)))
    if one < 0.25 and case.place != "psql":
        return replace(case, stopped=int(rng.integers(1, 4)))
    return case


def far(rng: np.random.Generator) -> float:
    return float(10.0 ** rng.integers(-9, 10))


def column(rng: np.random.Generator, values: Values) -> Values:
    """On any scale, and sometimes far from 0: as far as doubles still know it to 10^-7 of its deviation."""
    kind, size = rng.random(), far(rng)
    if kind < 0.5:
        return values
    if kind < 0.7:
        return values * size
    shift = min(size * 10.0 ** rng.integers(0, 9), 1e12)
    return np.full(len(values), shift) if kind < 0.8 else values * size + shift


@dataclass
class Found:
    converged: bool
    gap: float
    passes: int
    obstacle: str = ""
    """What is in the way of a proof."""
    refused: str = ""


def run(engine: Engine, case: Case) -> Found:
    """AssertionError, or any error that is no refusal, if something is wrong."""
    if case.given:
        with opened(frames(case)) as here:
            return checked(here, case)
    with case.join.created(engine):
        return checked(engine, case)


def frames(case: Case) -> Any:
    """All tables but those without rows, which have no types there."""
    tables = {name: columns for name, columns in case.join.rows.items() if len(next(iter(columns.values())))}
    if made := {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lists": lists}.get(case.given):
        return {name: made(columns) for name, columns in tables.items()}
    connection = duckdb.connect()
    for name, columns in tables.items():
        connection.register("columns", columns)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM columns")
    return ibis.duckdb.from_connection(connection)


def lists(columns: Rows) -> Any:
    return {name: values.tolist() for name, values in columns.items()}


def checked(engine: Engine, case: Case) -> Found:
    try:
        training = case.trained
        validation = Validation({"m": training})
        model = trained(engine, case, training, validation)
    except (DataError, OptionError, QueryError) as error:
        return Found(False, 1.0, 0, refused=error.message)
    except StatementError as error:  # psql has no other way to refuse
        if case.place == "psql" and error.hint:
            return Found(False, 1.0, 0, refused=error.message)
        raise
    if training.folds:
        validation.of(model)
    case = replace(case, options={**case.options, "loss": model.loss})
    if not case.options.get("holdout"):
        check_scores(engine, case, model)
        rows = with_maps(model, counted(case, joined(case.join.rows, case.join.query)))
        for part, chosen, sign in parts(case, model, rows):
            own = {name: values[chosen] for name, values in rows.items()}
            check(case, replace(part, notes=model.notes), own, sign[chosen])
    if case.seed < MANY or case.seed % 4 == 0:
        evaluated(engine, case, model)
    rounded = any("rounding" in note for note in model.notes)
    obstacle = "" if model.converged else "rounding" if rounded else "passes"
    return Found(model.converged, model.gap, model.passes, obstacle)


def trained(engine: Engine, case: Case, training: Training, validation: Validation) -> Model:
    query, kept = case.join.query, Continuation()
    if case.place == "psql":
        return by_psql(engine, query, training)

    def stop(record: Record) -> None:
        if record.pass_ >= case.stopped:
            raise KeyboardInterrupt

    def train(continuation: Continuation, on_pass: OnPass | None = None) -> Model:
        named = {"m": continuation} if case.stopped else {}
        (model,) = train_each(engine, query, {"m": training}, lambda _: on_pass, named, on_fold=validation.measure)
        return model

    if not case.stopped:
        return train(kept)
    try:
        return train(kept, stop)
    except KeyboardInterrupt:
        before = kept.last and Saved.from_json(json.loads(json.dumps(kept.last.as_json())))
        return train(Continuation(before))


def by_psql(engine: Engine, query: str, training: Training) -> Model:
    save_program(engine, PROGRAM, stored_program(engine, query, training))
    engine.fetch(Text("SELECT version FROM sqlsvm.train($1)"), [PROGRAM])
    return open_store(engine).load(PROGRAM)


def counted(case: Case, rows: Rows) -> Rows:
    """Without those that weigh nothing: there a number may be infinite."""
    kept = rows["w"].astype(float) > 0.0 if case.options.get("weight") else np.ones(len(rows["y"]), dtype=bool)
    return {name: values[kept] for name, values in rows.items()}


def with_maps(model: Model, rows: Rows) -> Rows:
    """And the columns that maps make, each by its formula."""
    found = dict(rows)
    for each in model.maps:
        operands = [numbers(rows[name]) for name in each.columns]
        unknown = np.isnan(operands).any(axis=0)
        found |= {name: np.where(unknown, np.nan, values) for name, values in each.values(operands).items()}
    return found


def parts(case: Case, model: Model, rows: Rows) -> Iterator[tuple[Model, Values, Values]]:
    """Each vector of weights, its rows, and their signs; of a label that is a number the label."""
    label, every = rows["y"], np.ones(len(rows["y"]), dtype=bool)
    if model.classes:
        for part, value in zip(model.parts, model.classes, strict=True):
            yield part, every, np.where(label.astype(str) == str(value.value), 1.0, -1.0)
        return
    sign = signs_of(case, model, label)
    if model.groups:
        for part, group in zip(model.parts, model.groups, strict=True):
            yield part, rows["g"].astype(float) == float(str(group.value)), sign
        return
    yield model, every, sign


def signs_of(case: Case, model: Model, label: Values) -> Values:
    if case.number:
        return label.astype(float)
    return np.where(label.astype(str) == (model.positive or "1"), 1.0, -1.0)


def check(case: Case, model: Model, rows: Rows, sign: Values) -> None:
    x, beta, share, sign, constant = design(case.options, model, rows, sign)
    one = case.options["loss"]
    classes, (lam, l1_weight) = not case.number, penalised(case.options, model, sign, share, number=case.number)
    origin = np.full(len(x), 0.0 if one == "logistic" else 1.0) if classes else sign - model.label_centre
    signs = sign if classes else np.ones(len(x))

    def value(weights: Values) -> float:
        others = np.delete(weights, constant) if constant is not None else weights
        squares = others if case.free else weights
        z = origin - signs * (x @ weights)
        l1 = l1_weight * np.abs(others).sum()
        return float(share @ psi(one, z)) + lam * float(squares @ squares) + float(l1)

    at_model, slack = value(beta), CLOSE * value(np.zeros(len(beta))) * 1e-4 + 1e-300
    near = CLOSE * at_model + slack
    assert model.objective - near <= at_model <= model.objective_upper + near, (
        at_model,
        model.objective,
        model.objective_upper,
    )
    assert model.lower_bound <= model.objective_upper * (1 + 1e-12)
    if model.converged:
        assert model.gap <= 1e-3 or any("rounding may add" in note for note in model.notes), model.gap
    constrained = case.options.get("constrain", ())
    if not any(text.startswith("fair") for text in constrained):
        others = np.delete(np.eye(len(beta)), [] if constant is None else constant, axis=0)
        held = Constraint(("",) * len(others), others, np.zeros(len(others))) if constrained else None
        found = optimum(
            x,
            signs,
            origin,
            share,
            one,
            lam,
            l1=l1_weight,
            constant=constant,
            free=case.free,
            constraint=held,
            option=0.5 if one in ("quantile", "smooth_hinge") else 1.0,
        )
        if np.isfinite(found).all():
            if held is not None:  # the peer keeps to constraints by 1e-10, which labels of 1e-8 can tell
                found = np.where(held.rows.any(axis=0), np.maximum(found, 0.0), found)
            peer = value(found)
            assert model.lower_bound <= peer + CLOSE * peer + slack, (model.lower_bound, peer)


def check_scores(engine: Engine, case: Case, model: Model) -> None:
    """F of the scores that predict returns, which are those of the stored weights, is between the bounds. Of several
    classes it returns one score alone."""
    if model.classes:
        return
    rows = with_maps(model, counted(case, engine.fetch(predict(engine, model, case.join.query))))
    known = ~np.isnan(numbers(rows["score"]))
    rows = {name: values[known] for name, values in rows.items()}
    for part, chosen, sign in parts(case, model, rows):
        own = {name: values[chosen] for name, values in rows.items()}
        scores, dropped = numbers(own.pop("score")) + part.threshold, ("prediction", "probability")
        own = {name: values for name, values in own.items() if name not in dropped}
        _, beta, share, signs, constant = design(case.options, part, own, sign[chosen])
        found, penalty = (
            penalised(case.options, part, signs, share, number=case.number),
            np.delete(beta, constant) if constant is not None else beta,
        )
        lam, l1 = found
        z = signs - scores if case.number else (0.0 if case.options["loss"] == "logistic" else 1.0) - signs * scores
        squares = penalty if case.free else beta
        value = (
            float(share @ psi(case.options["loss"], z)) + lam * float(squares @ squares) + l1 * np.abs(penalty).sum()
        )
        assert part.objective * (1 - EXACT) - 1e-300 <= value <= part.objective_upper * (1 + EXACT) + 1e-300, (
            "of the stored scores",
            part.objective,
            value,
            part.objective_upper,
        )


def evaluated(engine: Engine, case: Case, model: Model) -> None:
    """The accuracy is that of the scores of all rows, up to those about 0."""
    try:
        found = on_all(engine, model, lambda problem: measure(problem, model))
    except (DataError, OptionError, QueryError):
        return
    if not isinstance(found, Evaluation) or case.options.get("holdout") or case.options.get("weight"):
        return
    rows = with_maps(model, joined(case.join.rows, case.join.query))
    sign = signs_of(case, model, rows["y"])
    x, beta, _, sign, _ = design({**case.options, "class_weight": None}, model, rows, sign)
    if case.options.get("class_weight") or case.options["scale"] == "maxabs":
        return  # the widths are those of other weights
    scores = x @ beta - model.threshold
    clear = np.abs(scores) > 1e-4 * max(1e-300, float(np.abs(scores).max(initial=0.0)))
    wrong, unclear = float(np.mean(clear & (np.sign(scores) != sign))), float(np.mean(~clear))
    assert wrong - 1e-9 - found_blur(found) <= 1.0 - found.accuracy.value <= wrong + unclear + 1e-9 + found_blur(found)


def found_blur(found: Evaluation) -> float:
    return found.accuracy.upper - found.accuracy.lower
