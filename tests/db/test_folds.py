"""Cross-validation: which rows are in a fold, that each training without one is optimal, and what is measured there."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import _sigmoid_calibration
from sklearn.metrics import f1_score, roc_auc_score
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.ask.validation import Validation, simplest, trained
from sqlsvm.compile.moments import EVERY
from sqlsvm.engine.base import Engine, Rows, Values
from sqlsvm.errors import DataError, EngineError, OptionError
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model, Validated
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.scaling import Moments
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.split import Folds, OfFold, marked, part_of
from sqlsvm.run.data import Data
from sqlsvm.run.folding import Folded, folded
from sqlsvm.run.join_oracle import JoinOracle, of_these
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.opening import labelled
from sqlsvm.run.problems import MOST_GAP, Weighed
from sqlsvm.run.train import train, train_each
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import Answers, workspace
from sqlsvm.solve.solution import State
from sqlsvm.terminal import NOTE
from tests.db import test_intervals as intervals
from tests.db.test_maps import crossed
from tests.db.test_numbers import numbers
from tests.ground.joins import Join, categories, chain, star
from tests.ground.opened import Wish, build, opened_problem, truth
from tests.ground.schemas import random_world
from tests.ground.trained import training
from tests.sized import sized
from tests.typed import asked as fetched
from tests.typed import meant, typed

SHAPES = {"star": star, "chain": chain, "categories": categories}
Found = list[tuple[float, Mapping[str, Values]]]


def made(engine: Engine, join: Join, trainings: Mapping[str, Training]) -> tuple[list[Model], Found]:
    """The models, and for each fold its number of rows and the raw weights of each training without it."""
    found: Found = []
    validation = Validation(trainings)

    def on_fold(problem: Data, weights: Mapping[str, Weighed]) -> None:
        found.append((problem.moments.n, {name: own.thetas[0] for name, own in weights.items()}))
        validation.measure(problem, weights)

    models = train_each(engine, join.query, trainings, on_fold=on_fold)
    return [validation.of(model) for model in models], found


def fold_of(engine: Engine, join: Join, folds: Folds) -> exp.Expression:
    query = labelled(engine, join.query, ProblemOptions("y", categorical=join.categorical))
    return folds.split(query, Facts(engine)).part


def rows_of(engine: Engine, join: Join, folds: Folds, *more: str) -> Rows:
    """The join with the fold of each row, and with more columns."""
    select = parse_one(join.query, read=engine.dialect)
    assert isinstance(select, exp.Select)
    return fetched(engine, select.select(exp.alias_(fold_of(engine, join, folds), "fold"), *more))


def without(engine: Engine, join: Join, folds: Folds, fold: int) -> str:
    select = parse_one(join.query, read=engine.dialect)
    assert isinstance(select, exp.Select)
    kept = exp.NEQ(this=fold_of(engine, join, folds), expression=exp.Literal.number(fold))
    return select.where(kept).sql(engine.dialect)


@pytest.mark.thin(12)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_training_is_that_of_the_other_folds(engine: Engine, shape: str, loss: str) -> None:
    """Without scaling, both minimise the same function. The weights of either are proven to be near the optimum."""
    join, folds = SHAPES[shape](np.random.default_rng(5)), Folds(3)
    options: dict[str, Any] = {"lam": 1e-2, "loss": loss, "scale": "none", "categorical": join.categorical}
    with join.created(engine):
        models, found = made(engine, join, {"m": training(folds=3, **options)})
        rows = rows_of(engine, join, folds)
        for fold, (n, weights) in enumerate(found):
            assert n == (rows["fold"] == fold).sum()
            alone = train(engine, "m", without(engine, join, folds, fold), training(**options))
            again = train(
                engine,
                "m",
                without(engine, join, folds, fold),
                training(max_passes=1, **options),
                start=moved(models[0], weights["m"]),
            )
            assert again.history[0]["objective"] <= alone.objective_upper * (1 + 2e-3)
            assert again.history[0]["objective_upper"] >= alone.lower_bound
    assert len(found) == 3
    assert sum(n for n, _ in found) == len(rows["y"])


SHARING = (Wish(), Wish(class_weights=(3, 2), copied=True), Wish(at_once=True), Wish(tables=True, merged=True))


@pytest.mark.parametrize("seed", range(700, 708))
def test_shared_passes_are_those_of_the_other_rows(shared_engine: Engine, seed: int) -> None:
    """Of random worlds."""
    rng = np.random.default_rng(seed)
    world = random_world(rng, max_relations=4)
    assert world.label
    wish = replace(SHARING[seed % len(SHARING)], label=world.label.name)
    with world.created(shared_engine) as live, workspace(shared_engine) as work:
        text = live.query(shared_engine.dialect)
        if not len(truth(shared_engine, text, wish).y):
            return
        problem = opened_problem(work, text, wish)
        if problem.query.label_relation in problem.query.parents:
            return
        with suppress(DataError):  # a fold without rows
            check_folds(problem, seed, rng)


@pytest.mark.parametrize("wish", [Wish(), Wish(at_once=True, looked=False)])
def test_a_label_that_says_what_a_left_join_has_found(engine: Engine, wish: Wish) -> None:
    """The rows from which it looks are folded. One has a key that is NULL, and some have no partner."""
    number = np.arange(90)
    build(engine, "CREATE TABLE a (k INT, d INT, x FLOAT8); CREATE TABLE b (k INT); CREATE TABLE d (d INT, z FLOAT8)")
    of = (number % 9).astype(object)
    of[7] = None
    engine.copy_in(meant(engine, "a"), {"k": number, "d": of, "x": number * 7 % 41 / 9})
    engine.copy_in(meant(engine, "b"), {"k": number[::3]})
    engine.copy_in(meant(engine, "d"), {"d": number[:8], "z": number[:8] / 4})
    text = "SELECT a.x, d.z, b.k IS NOT NULL AS y FROM a JOIN d ON d.d = a.d LEFT JOIN b ON b.k = a.k"
    with workspace(engine) as work:
        check_folds(opened_problem(work, text, wish), 1, np.random.default_rng(1))


def check_folds(problem: Data, seed: int, rng: np.random.Generator) -> None:
    """The moments without a fold and within it, and with one bag the cut of a pass over all rows."""
    work, rows = problem.work, folded(problem, Folds(2, seed), EVERY)
    for fold in range(2):
        with rows.without(fold) as rest:
            same(rest.moments, read_moments(work, rest.plan))
            check_cut(rows, rest, fold, rng.normal(size=rest.scaling.dimension))
        with rows.within(fold) as part:
            same(part.moments, read_moments(work, part.plan))


def same(found: Moments, counted: Moments) -> None:
    for name in ("n", "n_negative", "total", "squares", "largest", "total_negative"):
        assert getattr(found, name) == pytest.approx(getattr(counted, name), rel=1e-12, abs=1e-12, nan_ok=True)


def check_cut(rows: Folded, rest: Data, fold: int, beta: Values) -> None:
    for width in (0.0, 0.3):
        counted = JoinOracle(rest).pass_(beta, None, width)
        made = rows.begin(rest.plan.loss, State.of([beta], [counted], [0.0], [1.0]), [beta])
        if rest.plan.centre is None:
            ((_, found, _, strength),) = of_these(rest, rest.plan.loss, made, rows.rounds[fold].trains).passes()
            assert found.slope == pytest.approx(counted.slope, rel=1e-10, abs=1e-12)
            assert (found.offset, found.value_low) == pytest.approx((counted.offset, counted.value_low), rel=1e-10)
            assert (found.width, strength) == (width, 1.0)


def moved(model: Model, theta: Values) -> Model:
    """With other weights: the intercept comes first among the raw weights."""
    has_constant = len(theta) > len(model.weights)
    own = theta[1:] if has_constant else theta
    weights = replace(model.weights, values=own)
    return replace(model, intercept=float(theta[0]) if has_constant else 0.0, weights=weights)


@pytest.mark.thin(3)
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"loss": "squared_hinge"}], ids=str)
def test_measures_are_those_of_the_rows(engine: Engine, options: dict[str, Any]) -> None:
    """Of each fold, without class weights; with their mean and its error."""
    join, folds = star(np.random.default_rng(6), 900), Folds(4, seed=3)
    with join.created(engine):
        (model,), found = made(engine, join, {"m": training(lam=1e-2, folds=4, seed=3, **options)})
        rows = rows_of(engine, join, folds)
    y = rows["y"].astype(bool)
    for fold, (_, weights) in enumerate(found):
        here = rows["fold"] == fold
        scores = scored(model, weights["m"], rows)[here]
        z = np.maximum(0.0, 1.0 - np.where(y[here], scores, -scores)) ** (2 if "loss" in options else 1)
        seen = {name: measure.folds[fold] for name, measure in model.validation.items()}
        assert seen["loss"] == pytest.approx(z.mean(), rel=1e-9)
        assert seen["auc"] == pytest.approx(roc_auc_score(y[here], scores), rel=1e-9)
        assert seen["accuracy"] == pytest.approx((y[here] == (scores > 0)).mean())
        assert seen["f1"] == pytest.approx(f1_score(y[here], scores > 0))
    for measure in model.validation.values():
        assert measure.mean == pytest.approx(np.mean(measure.folds))
    f1, accuracy = (model.validation[name] for name in ("f1", "accuracy"))
    assert f1.standard_error == pytest.approx(np.std(f1.folds, ddof=1) / 2)
    each = [a * (1 - a) / ((rows["fold"] == fold).sum() - 1) for fold, a in enumerate(accuracy.folds)]
    assert accuracy.standard_error == pytest.approx(np.sqrt(sum(each)) / 4)


@pytest.mark.thin(3)
@pytest.mark.parametrize("shape", ["one bag, the label folds", "two bags", "one bag"])
def test_errors_are_clustered(engine: Engine, shape: str) -> None:
    """By the rows of the label's relation, of which each is in many rows of the join."""
    assert_clustered(engine, shape, exact=shape == "one bag")  # its clusters are rows


@pytest.mark.thin(3)
@pytest.mark.parametrize("looked_up", [False, True])
@pytest.mark.parametrize("shape", intervals.QUERIES)
def test_errors_of_rows_in_memory_are_exact(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, shape: str, looked_up: bool
) -> None:
    """Also over three bags. The database counts the label's rows, or it is the place where one was looked up."""
    sized(monkeypatch, sent=-np.inf if looked_up else np.inf)
    assert_clustered(engine, shape, exact=True, in_memory=100_000)


def assert_clustered(engine: Engine, shape: str, *, exact: bool, in_memory: int | None = None) -> None:
    intervals.made(engine)
    join, folds = Join("", {}, intervals.QUERIES[shape]), Folds(3)
    asked = training(lam=1e-2, folds=3)
    asked = replace(asked, in_memory=in_memory)
    (model,), found = made(engine, join, {"m": asked})
    rows = rows_of(engine, join, folds, "f.id")
    errors: dict[str, list[float]] = {"accuracy": [], "loss": [], "auc": []}
    for fold, (_, weights) in enumerate(found):
        here = rows["fold"] == fold
        scores, y = scored(model, weights["m"], rows)[here], np.where(rows["y"][here].astype(int) > 0, 1.0, -1.0)
        wrong, cost = ((scores > 0) != (y > 0)).astype(float), np.maximum(0.0, 1.0 - y * scores)
        for name, adds in {"accuracy": wrong, "loss": cost}.items():
            errors[name].append(intervals.error_of(rows["id"][here].astype(int), adds - adds.mean()))
        errors["auc"].append(intervals.error_of_auc(rows["id"][here].astype(int), y, scores))
    for name, each in errors.items():
        error = model.validation[name].standard_error
        assert error == pytest.approx(np.linalg.norm(each) / 3, rel=1e-6 if exact or name == "accuracy" else 5e-2)


def test_measures_over_three_bags_are_off_by_far_less_than_their_errors(duckdb: Engine) -> None:
    """They come from scores on a fine grid. Rows that are rounded to 0 are on both sides of it."""
    intervals.made(duckdb)
    join, folds = Join("", {}, intervals.QUERIES["three bags"]), Folds(3)
    (model,), found = made(duckdb, join, {"m": training(lam=1e-2, folds=3, in_memory=0)})
    rows = rows_of(duckdb, join, folds)
    for fold, (_, weights) in enumerate(found):
        here = rows["fold"] == fold
        scores, y = scored(model, weights["m"], rows)[here], rows["y"][here].astype(int) > 0
        seen = {name: measure.folds[fold] for name, measure in model.validation.items()}
        assert seen["accuracy"] == pytest.approx((y == (scores > 0)).mean(), abs=2e-3)
        assert seen["f1"] == pytest.approx(f1_score(y, scores > 0), abs=2e-3)
        assert seen["auc"] == pytest.approx(roc_auc_score(y, scores), abs=1e-3)
        assert seen["loss"] == pytest.approx(np.maximum(0.0, 1.0 - np.where(y, scores, -scores)).mean(), rel=2e-3)


def scored(model: Model, theta: Values, rows: Rows) -> Values:
    one = moved(model, theta)
    return np.asarray(one.intercept + sum(w.weight * rows[w.feature].astype(float) for w in one.weights))


def test_numbers(engine: Engine) -> None:
    join, folds = numbers(np.random.default_rng(6), 400, shift=0.0), Folds(3)
    with join.created(engine):
        (model,), found = made(engine, join, {"m": training(loss="absolute", lam=1e-4, folds=3)})
        n = [(rows_of(engine, join, folds)["fold"] == fold).sum() for fold in range(3)]
    assert [rows for rows, _ in found] == n
    assert model.validation["mae"].mean == pytest.approx(model.validation["loss"].mean)
    assert model.validation["mae"].mean > 0


def test_rows_with_one_value_stay_together(engine: Engine) -> None:
    join = star(np.random.default_rng(6), 900)
    with join.created(engine):
        rows = rows_of(
            engine, replace(join, query=join.query.replace("s.y,", "s.y, s.store AS k,")), Folds(5, by="store")
        )
        (model,), found = made(engine, join, {"m": training(lam=1e-2, folds=5, split_by="store")})
    folds = {k: set(rows["fold"][rows["k"] == k].tolist()) for k in rows["k"].tolist()}
    assert all(len(found) == 1 for found in folds.values())
    assert sorted(n for n, _ in found) == sorted(np.bincount(rows["fold"].astype(int)).tolist())
    assert len(model.validation["auc"].folds) == 5


def test_a_copy_knows_the_entities(postgres: Engine) -> None:
    """It has no other columns than those of the query. All rows of an entity have one label."""
    who = "g % 40 AS who, SIN(g) AS x, g % 40 < 12 AS y"
    build(postgres, f"CREATE TABLE t AS SELECT {who} FROM GENERATE_SERIES(1, 800) r(g)")
    svc = RelationalSVC(lam=1e-2, folds=2, split_by="who", offload=True).fit(postgres, "SELECT t.y, t.x FROM t", "y")
    one, two = svc.model_.validation["accuracy"].folds
    assert any(abs(n * one + (40 - n) * two - 28) < 1e-9 for n in range(40))


def test_probabilities_of_scores_that_no_training_has_seen(engine: Engine) -> None:
    join, folds = star(np.random.default_rng(6), 900), Folds(3)
    with join.created(engine):
        (model,), found = made(engine, join, {"m": training(lam=1e-2, folds=3, probability="sigmoid")})
        rows = rows_of(engine, join, folds)
    parts = [
        (scored(model, w["m"], rows)[rows["fold"] == k], rows["y"][rows["fold"] == k]) for k, (_, w) in enumerate(found)
    ]
    scores, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    assert model.probability
    assert _sigmoid_calibration(scores, y.astype(float)) == pytest.approx(
        (model.probability.slope, model.probability.offset), abs=1e-4
    )


@pytest.mark.slow
def test_every_model_of_a_path_has_its_measures(duckdb: Engine) -> None:
    join = star(np.random.default_rng(6), 900)
    trainings = {f"m_{lam:g}": training(lam=lam, folds=3) for lam in (1.0, 0.1, 1e-2)}
    with join.created(duckdb):
        models, found = made(duckdb, join, trainings)
        alone = [made(duckdb, join, {name: each})[0][0] for name, each in trainings.items()]
    assert [set(weights) for _, weights in found] == [set(trainings)] * 3
    for model, other in zip(models, alone, strict=True):
        assert model.validation["loss"].mean == pytest.approx(other.validation["loss"].mean, rel=5e-3)
    assert all("folds" in model.phases for model in models[:1])


def test_no_fold_has_the_weights_of_a_training_that_has_seen_it(duckdb: Engine) -> None:
    """Over one bag, passes at the weights of all rows prove enough for a fold at once, and are no solution of it."""
    join, folds = star(np.random.default_rng(5), 900), Folds(3)
    options: dict[str, Any] = {"lam": 1e-2, "loss": "logistic", "in_memory": 0}
    with join.created(duckdb):
        _, found = made(duckdb, join, {"m": training(folds=3, **options)})
        whole = raw(train(duckdb, "m", join.query, training(tol=1e-8, **options)))
        for fold, (_, weights) in enumerate(found):
            own = raw(train(duckdb, "m", without(duckdb, join, folds, fold), training(tol=1e-8, **options)))
            assert np.linalg.norm(weights["m"] - own) < 0.2 * np.linalg.norm(whole - own)


def raw(model: Model) -> Values:
    return np.array([model.intercept, *model.weights.values])


@pytest.mark.slow
def test_a_fold_of_a_path_makes_no_pass_where_those_before_prove_enough(
    duckdb: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over two bags. The weights are then between those of other penalties, and are proven to be near the optimum."""
    join, folds, penalties = chain(np.random.default_rng(5)), Folds(2), (0.1, 0.05, 0.03, 0.02, 0.01)
    asked = {f"{lam:g}": training(lam=lam, folds=2, in_memory=0, scale="none") for lam in penalties}
    made_at: list[int] = []
    one = JoinOracle.asked

    def counted(oracle: JoinOracle, *at: Any) -> Answers:
        made_at.extend([] if oracle.problem.key.fold is None else [oracle.problem.key.fold])
        return one(oracle, *at)

    monkeypatch.setattr(JoinOracle, "asked", counted)
    with join.created(duckdb):
        models, found = made(duckdb, join, asked)
        passes = len(made_at)
        for fold, (_, weights) in enumerate(found):
            rest = without(duckdb, join, folds, fold)
            for model, lam in zip(models, penalties, strict=True):
                alone = train(duckdb, "m", rest, training(lam=lam, scale="none"))
                effort: dict[str, Any] = {"lam": lam, "scale": "none", "max_passes": 1, "in_memory": 0}
                here = train(duckdb, "m", rest, training(**effort), start=moved(model, weights[model.name]))
                assert here.history[0]["objective"] <= alone.objective_upper * (1 + MOST_GAP)
    assert 2 * 2 <= passes < 2 * len(penalties)


def test_the_simplest_within_one_error() -> None:
    def auc(mean: float, error: float) -> dict[str, Validated]:
        return {"auc": Validated(mean, error, (mean, mean))}

    found = [auc(0.70, 0.1), auc(0.795, 0.02), auc(0.80, 0.02), auc(0.81, 0.02)]
    assert simplest(found, "auc", (1.0, 0.1, 0.01, 0.001)) == 1
    assert simplest(found, "auc", (0.001, 0.01, 0.1, 1.0)) == 3


def test_the_tables_of_the_user_and_of_the_work(engine: Engine) -> None:
    """Nothing is left, also if a fold ends in an error."""
    join = star(np.random.default_rng(6), 300)
    with join.created(engine):
        before = sorted(engine.table_names())
        made(engine, join, {"m": training(lam=1e-2, folds=2)})
        assert sorted(engine.table_names()) == before

        def fails(problem: Data, weights: Mapping[str, Weighed]) -> None:
            raise EngineError("enough")

        with pytest.raises(EngineError, match="enough"):
            train(engine, "m", join.query, training(lam=1e-2, folds=2), on_fold=fails)
        assert sorted(engine.table_names()) == before


def test_an_estimator_has_folds(duckdb: Engine) -> None:
    join = star(np.random.default_rng(6), 300)
    with join.created(duckdb):
        svc = RelationalSVC(1e-2, folds=3, probability="isotonic").fit(duckdb, join.query, "y")
    assert 0.5 < svc.model_.validation["auc"].mean < 1
    assert svc.model_.probability
    assert Model.from_json(svc.model_.as_json()).validation == svc.model_.validation


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"folds": 5, "holdout": 0.2}, "folds and holdout both"),
    ({"folds": 1}, "folds must be a whole number of at least 2 and at most 100, not 1"),
    ({"split_by": "store"}, "split_by says which rows stay together"),
    ({"folds": 2, "solver": "descent", "scale": "maxabs"}, "descent takes no folds"),
)


@pytest.mark.parametrize(("options", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_cannot_be_asked_for(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        training(**options)


@pytest.mark.slow
def test_folds_that_do_not_fit_the_rows(engine: Engine) -> None:
    build(engine, "CREATE TABLE f (y BOOLEAN, x FLOAT8)")
    typed(engine, "INSERT INTO f SELECT i > 5, i FROM generate_series(1, 9) AS s (i)")
    query = "SELECT y, x FROM f"
    (model,), _ = made(engine, Join("", {}, query), {"m": training(lam=0.1, folds=40)})
    assert "40 of 40 folds could not be measured, and there are no measures" in model.notes[-1]
    assert not model.validation
    with pytest.raises(OptionError, match="f, which has the label, has no column z"):
        made(engine, Join("", {}, query), {"m": training(lam=0.1, folds=2, split_by="z")})


def rows_of_fold(engine: Engine, text: str, asked: Training, fold: int) -> Rows:
    """Made here."""
    query, facts = labelled(engine, text, replace(asked, map=())), Facts(engine)
    query = part_of("holdout")(marked(OfFold(asked.parts, fold))(query, facts), facts)
    return engine.fetch(query.relation("t").rows([(f.expression.copy(), f.name) for f in query.outputs]))


@pytest.mark.slow
@pytest.mark.parametrize("time", [None, "n"])
def test_each_fold_learns_a_network_of_its_own(
    duckdb: Engine, time: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """As a training that holds the fold out does. A note says what that costs."""
    create, columns = crossed()
    build(duckdb, create)
    duckdb.copy_in(meant(duckdb, "crossed"), columns)
    text, asked = "SELECT t.y, t.x, t.z, t.n FROM crossed t", training(map=("net:t:2",), folds=2, time=time, lam=1e-2)
    with caplog.at_level(NOTE):
        (model,) = trained(duckdb, text, {"m": asked})
    assert "each fold learns maps of its own and shares no pass: 2 folds take about as long" in caplog.text
    assert len(model.validation["accuracy"].folds) == 2
    for fold, accuracy in enumerate(model.validation["accuracy"].folds):
        (one,) = train_each(duckdb, text, {"m": replace(asked, fold=fold)})
        assert one.maps != model.maps
        held = rows_of_fold(duckdb, text, asked, fold)
        assert len(held["y"]) == sum(one.trained_on.held_out.values())
        assert np.mean((scores(one, held) > 0) == held["y"].astype(bool)) == pytest.approx(accuracy)


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"in_memory": 0}], ids=str)
def test_each_quantile_of_a_band_is_measured(duckdb: Engine, more: dict[str, Any]) -> None:
    """As if it were trained alone: they share the folds, and no cuts."""
    join = numbers(np.random.default_rng(4))
    band = {f"q{q}": training(loss="quantile", quantile=q, folds=2, lam=1e-2, tol=1e-5, **more) for q in (0.1, 0.9)}
    with join.created(duckdb):
        models = trained(duckdb, join.query, band)
        for model, (name, asked) in zip(models, band.items(), strict=True):
            (one,) = trained(duckdb, join.query, {name: asked})
            for measure, found in one.validation.items():
                assert model.validation[measure].mean == pytest.approx(found.mean, rel=0.02, abs=0.01), measure
    covered = [model.validation["loss"].mean for model in models]
    assert covered[0] != covered[1]


def test_a_fold_that_cannot_have_a_network_leaves_the_model(duckdb: Engine) -> None:
    """Of the folds in time the first ones have one class."""
    create, columns = crossed()
    build(duckdb, create)
    duckdb.copy_in(meant(duckdb, "crossed"), columns)
    text = "SELECT t.n > 501 AS y, t.x, t.z, t.n FROM crossed t"
    (model,) = trained(duckdb, text, {"m": training(map=("net:t:2",), folds=3, time="n", lam=1e-2)})
    assert model.converged
    assert any(
        note.startswith("3 of 3 folds could not be measured, and there are no measures: ") for note in model.notes
    )
    assert not model.validation
