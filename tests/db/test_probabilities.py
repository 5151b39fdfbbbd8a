"""Probabilities: fitted to the rows held out as scikit-learn would fit them, the same wherever they are asked for, and
measured within their bounds."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss, log_loss
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.ask.evaluate import measure
from sqlsvm.ask.rows import on_all, on_parts
from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine, Rows, Text, Values
from sqlsvm.errors import OptionError
from sqlsvm.model.confusion import ByGroup, Confusion
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, query_rows, save, score_sql
from sqlsvm.options import ProbabilityMethod
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.split import Holdout, marked
from sqlsvm.report import gather_from
from sqlsvm.report.plots import charts
from sqlsvm.run.opening import labelled
from sqlsvm.store import open_store
from tests.db.test_groups import made
from tests.evaluating import evaluate_model, evaluate_parts
from tests.ground.joins import Join, chain, star
from tests.ground.trained import training
from tests.psql import answer, complaint
from tests.sized import sized
from tests.typed import asked as fetched
from tests.typed import typed

METHODS: tuple[ProbabilityMethod, ...] = ("sigmoid", "isotonic")
NO_WEIGHTS = "ignore:Since FrozenEstimator does not appear to accept sample_weight"
SHAPES = {"star": lambda: star(np.random.default_rng(3), 1500), "chain": lambda: chain(np.random.default_rng(3), 120)}


class Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose scores are the rows."""

    def fit(self, x: Values, y: Values, sample_weight: Values | None = None) -> "Scored":
        self.classes_ = np.array([False, True])
        return self

    def predict(self, x: Values) -> Values:
        return self.decision_function(x) > 0

    def decision_function(self, x: Values) -> Values:
        return np.asarray(x[:, 0])


def rows_held_out(engine: Engine, join: Join, model: Model, holdout: float) -> Rows:
    query = labelled(engine, join.query, ProblemOptions("y"))
    held = marked(Holdout(holdout))(query, Facts(engine)).held_out
    assert held
    text = exp.select("*").from_(parse_one(join.query, into=exp.Select).where(held).subquery("q")).sql(engine.dialect)
    return fetched(engine, predict(engine, model, text, probability=True))


@pytest.mark.thin(3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_next_to_scikit_learn(engine: Engine, shape: str, method: str) -> None:
    """On the rows held out, made here, and their measures on both parts."""
    join = SHAPES[shape]()
    with join.created(engine):
        (model,) = trained(engine, join.query, {"m": training(lam=1e-3, holdout=0.4, probability=method)})
        rows = rows_held_out(engine, join, model, 0.4)
        measured = evaluate_parts(engine, model)
    scores, y = rows["score"][:, None], rows["y"].astype(bool)
    peer = CalibratedClassifierCV(FrozenEstimator(Scored().fit(scores, y)), method=method).fit(scores, y)
    theirs = peer.predict_proba(scores)[:, 1]
    np.testing.assert_allclose(rows["probability"], theirs, atol=1e-6 if method == "sigmoid" else 1e-3)
    assert np.std(theirs) > 0.1
    found = measured["holdout"]
    assert found.brier
    assert found.log_loss
    assert found.probabilities
    assert found.brier.value == pytest.approx(brier_score_loss(y, rows["probability"]), abs=1e-9)
    assert found.log_loss.value == pytest.approx(log_loss(y, rows["probability"]), rel=1e-6)
    assert sum(group.rows for group in found.probabilities.groups) == pytest.approx(len(y))
    mean = sum(group.rows * group.positive for group in found.probabilities.groups)
    assert mean == pytest.approx(y.sum())
    assert measured["train"].brier


@pytest.mark.parametrize("method", METHODS)
def test_everywhere_the_same(engine: Engine, method: ProbabilityMethod, installed: Engine, installed_dsn: str) -> None:
    """The column of the predictions, one SQL expression, the rows in memory, and psql."""
    join = star(np.random.default_rng(5), 400)
    with join.created(engine):
        svc = RelationalSVC(1e-2, holdout=0.4, probability=method).fit(engine, join.query, "y")
        model = svc.model_
        rows = engine.fetch(predict(engine, model, probability=True))
        expression = score_sql(model, engine.dialect, probability=True)
        text = f"SELECT {expression} AS p FROM ({engine.text(query_rows(engine, model))}) AS q"
        one = engine.fetch(parse_one(text, read=engine.dialect))["p"]
    columns = {name: rows[name] for name in ("qty", "price", "size", "open", "weight")}
    found = svc.predict_proba(columns)
    np.testing.assert_allclose(found[:, 1], rows["probability"], atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.sort(one.astype(float)), np.sort(rows["probability"]), atol=1e-12)
    open_store(installed).save(replace(model, dialect="postgres", name=f"p_{engine.dialect}_{method}"))
    feature = {name: values[7].item() for name, values in columns.items()}
    (said,) = answer(
        installed_dsn, f"SELECT sqlsvm.predict_proba('p_{engine.dialect}_{method}', '{json.dumps(feature)}');"
    )
    assert float(said) == pytest.approx(rows["probability"][7], abs=1e-12)


def test_a_long_curve_stands_once_in_a_query_and_a_view_lets_conditions_through(postgres: Engine) -> None:
    """PostgreSQL would put the expression of a score in place of each of its names in the curve, and compile that for
    half a minute. In a view it would not push a condition below the fence that prevents it."""
    join = star(np.random.default_rng(5), 400)
    with join.created(postgres):
        model = RelationalSVC(1e-2, holdout=0.4, probability="isotonic").fit(postgres, join.query, "y").model_
        found = predict(postgres, model, probability=True)
        assert "OFFSET" in postgres.text(found)
        save(postgres, found, "public.scored", "view")
        (text,) = fetched(postgres, "SELECT pg_get_viewdef('public.scored'::regclass) AS v")["v"]
        assert "OFFSET" not in text
        typed(postgres, "DROP VIEW public.scored")
    assert "OFFSET" in score_sql(model, "postgres", probability=True)
    assert "OFFSET" not in score_sql(model, "duckdb", probability=True)


@pytest.mark.parametrize("method", METHODS)
def test_measures_have_bounds_where_scores_are_rounded(engine: Engine, method: str) -> None:
    join = SHAPES["chain"]()
    with join.created(engine):
        asked = training(lam=1e-3, holdout=0.4, probability=method, counting="grid")
        (model,) = trained(engine, join.query, {"m": asked})
        found = evaluate_parts(engine, model, ["holdout"], buckets=64)["holdout"]
        rows = rows_held_out(engine, join, model, 0.4)
    y = rows["y"].astype(bool)
    assert found.brier
    assert found.log_loss
    assert found.brier.lower < brier_score_loss(y, rows["probability"]) < found.brier.upper
    assert found.log_loss.lower < log_loss(y, rows["probability"]) < found.log_loss.upper
    assert found.brier.lower < found.brier.value < found.brier.upper


@pytest.mark.filterwarnings(NO_WEIGHTS)
def test_rows_with_weights(engine: Engine) -> None:
    join = star(np.random.default_rng(4), 1500)
    text = join.query.replace("s.price,", "s.price, 0.5 + st.size / 16 AS w,")
    weighted = Join(join.script, join.rows, text)
    with weighted.created(engine):
        asked = training(lam=1e-3, holdout=0.4, probability="sigmoid", weight="w")
        (model,) = trained(engine, text, {"m": asked})
        rows = rows_held_out(engine, weighted, model, 0.4)
    scores, y = rows["score"][:, None], rows["y"].astype(bool)
    frozen = FrozenEstimator(Scored().fit(scores, y))
    peer = CalibratedClassifierCV(frozen, method="sigmoid").fit(scores, y, sample_weight=rows["w"])
    np.testing.assert_allclose(rows["probability"], peer.predict_proba(scores)[:, 1], atol=1e-6)


def test_each_model_of_a_path_has_its_own(duckdb: Engine) -> None:
    join = star(np.random.default_rng(4), 800)
    trainings = {f"m{n}": training(lam=10.0**-n, holdout=0.4, probability="sigmoid") for n in (1, 3)}
    with join.created(duckdb):
        first, second = trained(duckdb, join.query, trainings)
    assert first.probability
    assert second.probability
    assert first.probability != second.probability


def test_the_report_draws_how_true_they_are(duckdb: Engine) -> None:
    join = star(np.random.default_rng(4), 800)
    with join.created(duckdb):
        svc = RelationalSVC(1e-2, holdout=0.4, probability="isotonic").fit(duckdb, join.query, "y")
        drawn = charts(gather_from(duckdb, svc.model_))
    assert drawn["reliability"].title == "Reliability"


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"probability": "sigmoid"}, "probability needs rows that the training has not seen"),
    ({"probability": "sigmoid", "holdout": 0.2, "loss": "huber"}, "probability is of two classes"),
    ({"probability": "platt", "holdout": 0.2}, "probability must be sigmoid or isotonic, not 'platt'"),
)


@pytest.mark.parametrize(("options", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_cannot_be_asked_for(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        training(**options)


def test_a_model_without_one(engine: Engine, installed: Engine, installed_dsn: str) -> None:
    join = star(np.random.default_rng(4), 300)
    with join.created(engine):
        svc = RelationalSVC(0.1).fit(engine, join.query, "y")
        svc._take(replace(svc.model_, probability=None))
        with pytest.raises(OptionError, match="has no probability\nHINT: a training with probability='sigmoid'"):
            predict(engine, svc.model_, probability=True)
        assert evaluate_model(engine, svc.model_).brier is None
    with pytest.raises(AttributeError, match="RelationalSVC has no probability"):
        svc.predict_proba({})
    open_store(installed).save(replace(svc.model_, dialect="postgres", name=f"none_{engine.dialect}"))
    said = complaint(installed_dsn, f"SELECT sqlsvm.predict_proba('none_{engine.dialect}', '{{}}');")
    assert (said["SQLSTATE"], said["MESSAGE"]) == ("SV003", f'model "none_{engine.dialect}" has no probability')


# -- more than two classes ---------------------------------------------------------------------------------------------


LABELS = {
    "star": ("s.y", "CASE WHEN NOT s.y THEN 'a' WHEN s.price > 0.4 THEN 'b''s' ELSE 'c' END"),
    "chain": ("m.y", "CASE WHEN m.y = 1 THEN 'one' WHEN m.v > 0 THEN 'two' WHEN m.u > 0 THEN 'three' ELSE 'four' END"),
}


def classed(shape: str) -> Join:
    join, (label, classes) = SHAPES[shape](), LABELS[shape]
    return replace(join, query=join.query.replace(f"SELECT {label}", f"SELECT {classes} AS y", 1))


class ScoredClasses(Scored):
    """A classifier whose scores are the rows: one for each class."""

    def fit(self, x: Values, y: Values, sample_weight: Values | None = None) -> "ScoredClasses":
        self.classes_ = np.unique(y)
        return self

    def predict(self, x: Values) -> Values:
        return np.asarray(self.classes_[x.argmax(axis=1)])

    def decision_function(self, x: Values) -> Values:
        return x


@pytest.mark.slow
@pytest.mark.thin(3)
@pytest.mark.parametrize(("shape", "method"), [("star", "sigmoid"), ("chain", "isotonic")])
def test_classes_next_to_scikit_learn(
    engine: Engine, shape: str, method: ProbabilityMethod, installed: Engine, installed_dsn: str
) -> None:
    """On the rows held out, made here; the same in the database, as one expression, in memory, in psql and stored. What
    they cost is that of these rows."""
    join, name = classed(shape), f"p_{engine.dialect}_{shape}"
    with join.created(engine):
        svc = RelationalSVC(1e-3, holdout=0.4, probability=method).fit(engine, join.query, "y")
        model = svc.model_
        rows = rows_held_out(engine, join, model, 0.4)
        names = [f"probability_{value}" for value in svc.classes_]
        array = score_sql(model, engine.dialect, probability=True)
        text = f"SELECT y, {array} AS p FROM ({engine.text(query_rows(engine, model))}) AS q"
        listed = fetched(engine, parse_one(f"SELECT p[1] AS one FROM ({text}) AS r", read=engine.dialect))["one"]
        every = fetched(engine, predict(engine, model, probability=True))
        found = on_parts(engine, model, lambda problem: measure(problem, model), ["holdout"])["holdout"]
    columns = {name: values for name, values in rows.items() if name not in ("y", "score", "prediction", *names)}
    y, scores = rows["y"], svc.decision_function(columns)
    peer = CalibratedClassifierCV(FrozenEstimator(ScoredClasses().fit(scores, y)), method=method).fit(scores, y)
    theirs, ours = peer.predict_proba(scores), np.column_stack([rows[name].astype(float) for name in names])
    np.testing.assert_allclose(ours, theirs, atol=1e-6 if method == "sigmoid" else 1e-3)
    assert np.std(theirs) > 0.1
    np.testing.assert_allclose(svc.predict_proba(columns), ours, atol=1e-12)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.sort(listed.astype(float)), np.sort(every[names[0]].astype(float)), atol=1e-12)
    assert isinstance(found, Confusion)
    assert found.exact
    own = ours[np.arange(len(y)), np.searchsorted(svc.classes_, y)]
    assert found.measures["log_loss"] == pytest.approx(log_loss(y, ours), rel=1e-6)
    brier = (ours**2).sum(axis=1) - 2 * own + 1
    assert found.measures["brier"] == pytest.approx(brier.mean(), rel=1e-6)
    open_store(installed).save(replace(model, dialect="postgres", name=name))
    again = open_store(installed).load(name)
    assert [each.probability for each in again.classes] == [each.probability for each in model.classes]
    feature = {name: values[7].item() for name, values in columns.items()}
    said = answer(installed_dsn, f"SELECT * FROM sqlsvm.class_probabilities('{name}', '{json.dumps(feature)}');")
    assert [line.split("|")[0] for line in said] == svc.classes_.tolist()
    np.testing.assert_allclose([float(line.split("|")[1]) for line in said], ours[7], atol=1e-12)
    told = complaint(installed_dsn, f"SELECT sqlsvm.predict_proba('{name}', '{{}}');")
    assert f'model "{name}" has {len(names)} classes, so it has no one score' == told["MESSAGE"]


@pytest.mark.slow
def test_what_probabilities_of_a_sample_cost(duckdb: Engine) -> None:
    """Over several bags, if the join is too large to be read whole, with standard errors; fitted out of fold."""
    join = chain(np.random.default_rng(3), rows=3000, fan_out=14)
    join = replace(join, query=join.query.replace("SELECT m.y", f"SELECT {LABELS['chain'][1]} AS y", 1))
    with join.created(duckdb):
        model = RelationalSVC(1e-2, folds=2, probability="sigmoid").fit(duckdb, join.query, "y").model_
        found = on_all(duckdb, model, lambda problem: measure(problem, model))
        rows = fetched(duckdb, predict(duckdb, model, probability=True))
    assert isinstance(found, Confusion)
    assert not found.exact
    values = [each.value for each in model.classes]
    p = np.column_stack([rows[f"probability_{value}"] for value in values]).astype(float)
    own = p[np.arange(len(p)), np.searchsorted(np.array(values), rows["y"])]
    for name, cost in {"log_loss": -np.log(own), "brier": (p**2).sum(axis=1) - 2 * own + 1}.items():
        assert 0.0 < found.errors[name] < 0.01
        assert abs(found.measures[name] - cost.mean()) < 5 * found.errors[name]


# -- groups ------------------------------------------------------------------------------------------------------------

HOLDOUT, FOLDS, BY_PASSES = {"holdout": 0.4}, {"folds": 3}, {"in_memory": 0}


def without_curve(model: Model, value: object) -> Model:
    """As if a class had no rows in the part of this group that the training has not seen."""
    groups = (replace(of, probability=None) if of.value == value else of for of in model.groups)
    return replace(model, groups=tuple(groups))


@pytest.mark.thin(2)
@pytest.mark.parametrize("asked", [HOLDOUT, HOLDOUT | BY_PASSES, FOLDS, FOLDS | BY_PASSES], ids=str)
def test_each_group_has_a_curve_of_its_own(engine: Engine, asked: dict[str, Any]) -> None:
    """Fitted to the rows of the group, which evaluate measures: in the database, as one expression, in memory."""
    join, _ = made("star")
    with join.created(engine):
        svc = RelationalSVC(1e-2, by="g", probability="sigmoid", **asked).fit(engine, join.query, "y")
        svc._take(without_curve(svc.model_, "c"))
        model = svc.model_
        every = fetched(engine, predict(engine, model, probability=True))
        found = on_all(engine, model, lambda problem: measure(problem, model))
        held = every if "folds" in asked else rows_held_out(engine, join, model, 0.4)
        expression = score_sql(model, engine.dialect, probability=True)
        text = f"SELECT {expression} AS p FROM ({engine.text(query_rows(engine, model))}) AS q"
        again = engine.fetch(parse_one(text, read=engine.dialect))["p"].astype(float)
    p = every["probability"].astype(float)
    assert np.isfinite(p).tolist() == [value in ("a", "b's") for value in every["g"]]
    np.testing.assert_allclose(np.sort(again), np.sort(p), atol=1e-12)
    columns = {name: every[name] for name in ("qty", "price", "size", "open", "weight", "g")}
    np.testing.assert_allclose(svc.predict_proba(columns)[:, 1], p, atol=1e-12)
    assert isinstance(found, ByGroup)
    for of, one in zip(model.groups[:2], found.groups, strict=False):
        here = held["g"] == of.value
        y, scores = held["y"][here].astype(bool), held["score"][here].astype(float)[:, None]
        frozen = FrozenEstimator(Scored().fit(scores, y))
        theirs = CalibratedClassifierCV(frozen, method="sigmoid").fit(scores, y).predict_proba(scores)[:, 1]
        atol = 1e-5 if "holdout" in asked else 0.1  # scores of folds are of other weights
        np.testing.assert_allclose(held["probability"][here].astype(float), theirs, atol=atol)
        here = every["g"] == of.value
        assert isinstance(one.found, Evaluation)
        assert one.found.brier
        assert one.found.brier.value == pytest.approx(brier_score_loss(every["y"][here].astype(bool), p[here]))
    assert isinstance(found.whole, Evaluation)
    assert found.whole.brier is None  # that of c is not known


def test_psql_finds_the_curve_of_the_group(installed: Engine) -> None:
    join, _ = made("star")
    query = join.query.replace("s.y", f"{LABELS['star'][1]} AS y")
    ask = Text("SELECT sqlsvm.predict_proba('of_groups', $1::jsonb) AS p")
    each = Text(
        "SELECT array_agg(class) AS c, array_agg(probability) AS p FROM sqlsvm.class_probabilities('of_groups', $1)"
    )
    names = ("qty", "price", "size", "open", "weight", "g")
    with join.created(installed):
        for text, statement in ((join.query, ask), (query, each)):
            svc = RelationalSVC(1e-2, by="g", probability="isotonic", holdout=0.4).fit(installed, text, "y")
            model = without_curve(svc.model_, "c") if statement is ask else svc.model_
            svc._take(model)
            open_store(installed).save(replace(model, name="of_groups"))
            rows = fetched(installed, query_rows(installed, model))
            wanted = np.asarray(svc.predict_proba({name: rows[name] for name in names}))
            for place in range(12):
                row = {name: rows[name][place] for name in names}
                given = json.dumps({n: v.item() if isinstance(v, np.generic) else v for n, v in row.items()})
                found = installed.fetch(statement, [given])
                mine = found["p"][0] if statement is each else [found["p"][0]]
                np.testing.assert_allclose(np.array(mine, dtype=float), wanted[place][-len(mine) :], atol=1e-12)


@pytest.mark.slow
def test_a_group_without_a_class_in_the_rows_held_out(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other groups have curves, whether its rows are read or measured in the database, and a note names it."""
    join, _ = made("star")
    text = join.query.replace("THEN 'a'", "THEN CASE WHEN s.price > 2.3 THEN 'few' ELSE 'a' END")
    svc = RelationalSVC(1e-2, by="g", probability="sigmoid", holdout=0.1)
    with join.created(duckdb):
        for most in (Engine.sizes.of_group, 1):
            sized(monkeypatch, of_group=most)
            model = svc.fit(duckdb, text, "y").model_
            assert [of.value for of in model.groups if of.probability is None] == ["few"]
            assert "there is no probability for g few: a class has no rows that are held out" in model.notes
