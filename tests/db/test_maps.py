"""Maps (--map): their columns are those of scikit-learn, and a model of them is proven on the materialised join."""

import json
import os
from collections.abc import Sequence
from datetime import date, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.compile.copies import working_tables
from sqlsvm.engine.base import Engine, Values
from sqlsvm.errors import DataError, OptionError, QueryError, SqlsvmError
from sqlsvm.maps import formula
from sqlsvm.maps.asked import Asked, OfJoin
from sqlsvm.maps.kinds import compiled as compiled_network
from sqlsvm.maps.kinds import resolved
from sqlsvm.maps.mapped import Mapped, mapped
from sqlsvm.measures import MEASURES
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, query_rows, score_sql
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rewrites.split import PARTS, Holdout, part_of
from sqlsvm.report import gather_from, html
from sqlsvm.report.chart import Line
from sqlsvm.report.effects import effect, effect_charts
from sqlsvm.run.components import axes_of
from sqlsvm.run.mapping import examples_of
from sqlsvm.run.opening import labelled
from sqlsvm.run.train import settled_on, train
from sqlsvm.show.models import leaves
from tests.db.test_golden import written
from tests.evaluating import evaluate_model
from tests.ground import svm
from tests.ground.joins import JOINS, categories, left_join, star
from tests.ground.opened import build, truth
from tests.ground.schemas import random_world
from tests.ground.sql_program import compiled, trained
from tests.ground.trained import assert_beside_liblinear, assert_proven, training, wish_of
from tests.ground.world import noted
from tests.typed import asked, meant

ROWS = 400


def table(engine: Engine) -> tuple[str, dict[str, Values]]:
    """One table, and its columns. Numbers repeat, and some lie far away."""
    rng = np.random.default_rng(5)
    x, z = np.round(rng.normal(50, 20, ROWS)), rng.exponential(3, ROWS)
    city = np.array([f"n° {n}" for n in rng.integers(0, 9, ROWS).tolist()], dtype=object)
    y = np.sin(x / 12) + np.log1p(z) + 0.3 * rng.normal(size=ROWS) > 1.2
    build(engine, "CREATE TABLE rows_t (i INT, y BOOLEAN, x FLOAT8, z FLOAT8, city TEXT)")
    columns: dict[str, Values] = {"i": np.arange(ROWS), "y": y, "x": x, "z": z, "city": city}
    engine.copy_in(meant(engine, "rows_t"), columns)
    return "SELECT t.y, t.x, t.z, t.city FROM rows_t t", columns


def join_of(engine: Engine, query: FeatureQuery) -> OfJoin:
    options = ProblemOptions(label="y")
    return OfJoin(axes_of(engine, query, options), *examples_of(Facts(engine), query, options, 3))


def made(engine: Engine, text: str, maps: Sequence[str], seed: int = 3) -> tuple[tuple[Mapped, ...], dict[str, Values]]:
    """The maps, and the columns that they make, as the database computes them, in the order of i."""
    query = read_query(engine, text, label="y")
    found = resolved(engine, query, maps, seed, join_of(engine, query))
    changed = mapped(found)(query, Facts(engine))
    kept = {name for each in found for name in each.formulas}
    outputs = [(f.expression.copy(), f.name) for f in changed.features if f.name in kept]
    named = [exp.alias_(value, name, quoted=True) for value, name in outputs]
    source = changed.relations[0].serving(value for value, _ in outputs)
    rows = exp.select(*named).from_(source).order_by('"t"."i"')
    return found, dict(engine.fetch(rows))


def same(found: dict[str, Values], expected: Values) -> None:
    np.testing.assert_allclose(np.column_stack(list(found.values())), expected, rtol=1e-9, atol=1e-9)


def quantiles(x: Values, shares: Values) -> Values:
    return np.unique(np.sort(x)[np.round(shares * (len(x) - 1)).astype(int)])


def test_splines_are_those_of_scikit_learn(engine: Engine) -> None:
    """Also outside of the knots."""
    text, columns = table(engine)
    x = columns["x"]
    for knots, degree, outside in product((2, 5), (1, 2, 3), ("constant", "linear")):
        places = quantiles(x, np.linspace(0, 1, knots))
        peer: Any = SplineTransformer(degree=degree, knots=places[:, None], extrapolation=outside, include_bias=False)
        peer.fit(x[:, None])
        (one,), found = made(engine, text, [f"spline:x:{knots}:{degree}:{outside}"])
        same(found, peer.transform(x[:, None]))
        anywhere = np.concatenate([x, places, [-1e3, 1e3]])
        same(one.values([anywhere]), peer.transform(anywhere[:, None]))


def test_bins_are_those_of_scikit_learn(engine: Engine) -> None:
    text, columns = table(engine)
    _, found = made(engine, text, ["bins:x:4"])
    edges = quantiles(columns["x"], np.linspace(0, 1, 5))
    steps = np.digitize(columns["x"], edges[1:-1])
    same(found, np.eye(4)[steps][:, :3])


def test_products_are_those_of_scikit_learn(engine: Engine) -> None:
    text, columns = table(engine)
    both = np.column_stack([columns["x"], columns["z"]])
    _, found = made(engine, text, ["poly2:rows_t"])
    assert list(found) == ["x_x_x", "x_x_z", "z_x_z"]
    same(found, PolynomialFeatures(2, include_bias=False).fit_transform(both - both.mean(axis=0))[:, 2:])


@pytest.mark.parametrize("gamma", ["", ":0.3"])
def test_fourier_features_are_those_of_scikit_learn(engine: Engine, gamma: str) -> None:
    text, columns = table(engine)
    scaled = StandardScaler().fit_transform(np.column_stack([columns["x"], columns["z"]]))
    (one,), found = made(engine, text, [f"fourier:t:9{gamma}"])
    width = float(one.map.rpartition(":")[2])
    assert gamma in ("", f":{width}")
    same(found, RBFSampler(gamma=width, n_components=9, random_state=3).fit_transform(scaled))
    assert width == pytest.approx(0.3, rel=0.7)  # 1 / (2 median^2), of a sample


def test_a_constant_tells_no_rows_apart(engine: Engine) -> None:
    """The map of a table leaves it out."""
    text, _ = table(engine)
    more = text.replace("SELECT ", "SELECT 0 * i + 7 AS seven, ", 1)
    for map in ("fourier:t:9", "nystroem:t:7", "poly2:t"):
        (one,), found = made(engine, more, [map])
        (same_map,), wanted = made(engine, text, [map])
        assert one.columns == same_map.columns
        same(found, np.column_stack(list(wanted.values())))


def test_landmarks_are_those_of_scikit_learn(engine: Engine) -> None:
    text, columns = table(engine)
    scaled = StandardScaler().fit_transform(np.column_stack([columns["x"], columns["z"]]))
    _, found = made(engine, text, ["nystroem:t:7:0.4"])
    query = read_query(engine, text, label="y")
    wanted = Asked(engine, query, 3, "nystroem:t:7:0.4", join_of(engine, query))
    landmarks, *_ = wanted.scaled_points(wanted.numbers(), 7)
    peer = Nystroem(gamma=0.4, n_components=7, random_state=0).fit(landmarks)
    same(
        dict(zip(found, np.column_stack(list(found.values()))[:, peer.component_indices_].T, strict=True)),
        peer.transform(scaled),
    )


def test_with_all_rows_as_landmarks_inner_products_are_the_kernel(duckdb: Engine) -> None:
    join = star(np.random.default_rng(0))
    join.create(duckdb)
    query = read_query(duckdb, join.query, label="y")
    (one,) = resolved(duckdb, query, ["nystroem:st:40:0.5"], 0, join_of(duckdb, query))
    sizes = join.rows["stores"]["size"]
    found = np.column_stack(list(one.values([sizes]).values()))
    expected = rbf_kernel(((sizes - sizes.mean()) / sizes.std())[:, None], gamma=0.5)
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-6)


@pytest.mark.parametrize("scale", ["standard", "none"])
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_a_training_on_components_is_that_on_those_of_scikit_learn(engine: Engine, loss: str, scale: str) -> None:
    """The numbers are of three tables that meet in one row, and one is true or false."""
    join = star(np.random.default_rng(1), 500)
    join.create(engine)
    label, other = ("y", "price") if loss == "hinge" else ("price", "y")
    text = join.query.replace(f"s.{other}, ", "")
    options = {"loss": loss, "scale": scale, "lam": 1e-2, "tol": 1e-6, "sample": 2000}
    model = train(engine, "m", text, training(label, map=("pca:3",), **options))
    (one,) = model.maps
    assert (one.columns, one.booleans) == (("qty", "size", "open", "weight"), ("open",))

    rows = {name: values.astype(float) for name, values in asked(engine, text).items()}
    x = np.column_stack([rows[name] for name in one.columns])
    theirs = PCA(3).fit_transform(StandardScaler().fit_transform(x) if scale == "standard" else x)
    columns = one.values(list(x.T))
    ours = np.column_stack(list(columns.values()))
    theirs *= np.sign((theirs * ours).sum(axis=0))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)

    type = "BOOLEAN" if label == "y" else "FLOAT8"
    build(engine, f"CREATE TABLE peer ({label} {type}, pca1 FLOAT8, pca2 FLOAT8, pca3 FLOAT8)")
    own = rows[label].astype(bool) if label == "y" else rows[label]
    engine.copy_in(meant(engine, "peer"), {label: own, **dict(zip(columns, theirs.T, strict=True))})
    peer = train(engine, "peer", f"SELECT {label}, pca1, pca2, pca3 FROM peer", training(label, **options))
    assert model.objective == pytest.approx(peer.objective, rel=2e-6)
    found, expected = ({w.feature: w.weight for w in each.weights} for each in (model, peer))
    assert found == pytest.approx(expected, abs=1e-2 if loss == "hinge" else 1e-7)


def test_a_hash_keeps_categories_apart(engine: Engine) -> None:
    """And it is the same on both engines and in memory."""
    text, columns = table(engine)
    (one,), found = made(engine, text, ["hash:city:70"])
    same(one.values([columns["city"]]), np.column_stack(list(found.values())))
    _, places = np.unique(columns["city"].astype(str), return_index=True)
    vectors = np.column_stack(list(found.values()))[places]
    products = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(products), 1.0)
    most = float(one.note.split("at most ")[1].split()[0])
    assert 0.1 < most < 1.0
    assert np.abs(products - np.eye(9)).max() <= most
    assert len({tuple(row) for row in vectors}) == 9


# -- models ------------------------------------------------------------------------------------------------------------


def with_maps(engine: Engine, query: str, model: Model) -> str:
    """A query over the joined rows with the columns of the maps. Those that are replaced are gone."""
    gone = {name for each in model.maps if each.replaces for name in each.columns}
    first = [f for f in read_query(engine, query).features if f.name not in gone]
    kept = dict.fromkeys(quoted(f.name) for f in first)
    more = []
    for each in model.maps:
        columns = [each.operand(name, exp.column(name, "q", quoted=True)) for name in each.columns]
        rows, operands = each.stepped(columns, "m")
        there = " AND ".join(f"q.{quoted(name)} IS NOT NULL" for name in each.columns)
        for name, text in each.formulas.items():
            value = formula.applied(text, operands)
            inner = f"SELECT {value.sql(engine.dialect)}"
            if rows is not None:
                inner += f" FROM ({rows.sql(engine.dialect)}) AS m"
            there = "TRUE" if each.takes_nulls else there
            more.append(f"CASE WHEN {there} THEN ({inner}) END AS {quoted(name)}")
    return f"SELECT {', '.join([*kept, *more])} FROM ({query}) AS q"


def quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql()


SHAPES: dict[str, tuple[Any, list[str]]] = {
    "star": (star, ["spline:size:4", "bins:qty:5", "poly2:i", "fourier:s:6"]),
    "landmarks": (star, ["nystroem:st:8", "auto"]),
    "chain": (JOINS["chain"], ["spline:a:4", "poly2:l", "fourier:m:5"]),
    "left join": (left_join, ["spline:rate:4:2", "bins:x:3", "poly2:c"]),
    "network": (star, ["net:st:3", "net:s:4"]),
    "network with NULLs": (left_join, ["net:c:3"]),
    "categories": (categories, ["hash:city:6", "spline:price:3:1"]),
    "trees": (star, ["trees:8:4"]),
    "trees of NULLs": (left_join, ["trees:9"]),
    "trees of categories": (categories, ["trees:20"]),
    "trees of two bags": (JOINS["chain"], ["trees:6:3", "auto"]),
    "pca": (star, ["pca:3"]),
    "pca with NULLs": (left_join, ["pca:3"]),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("nulls", ["mean", pytest.param("drop", marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_is_proven_on_the_joined_rows(engine: Engine, shape: str, nulls: str) -> None:
    make, maps = SHAPES[shape]
    join = make(np.random.default_rng(2))
    join.create(engine)
    wanted = training(map=tuple(maps), nulls=nulls, categorical=join.categorical, lam=1e-2, sample=1000)
    model = train(engine, "m", join.query, wanted)
    assert model.converged
    rows = truth(engine, with_maps(engine, join.query, model), wish_of(wanted))
    assert_proven(engine, model, rows)
    assert_beside_liblinear(model, rows)


@pytest.mark.slow
@pytest.mark.parametrize("nulls", ["mean", "drop"])
def test_on_random_schemas(shared_engine: Engine, nulls: svm.Nulls) -> None:
    """Whatever is mapped, what is proven holds on the materialised join."""
    checked = several = 0
    for seed in range(int(os.environ.get("SQLSVM_TEST_WORLDS", "8"))):
        rng = np.random.default_rng(seed)
        world = random_world(rng, min_relations=2, max_relations=4, nulls=True, left_joins=True, max_rows=14)
        with noted(f"seed {seed}"), world.created(shared_engine) as live:
            assert live.label
            numbers = [f for f in live.features if f.kind == "numeric"]
            if not numbers:
                continue
            maps = ("auto", *(f"poly2:{alias}" for alias in {f.relation for f in numbers[:1]}))
            text = live.query(shared_engine.dialect)
            wanted = training(live.label.name, map=maps, nulls=nulls, lam=1e-2, sample=200)
            try:
                model = train(shared_engine, "m", text, wanted)
            except DataError:  # one class, a constant, or no rows
                continue
            rows = truth(shared_engine, with_maps(shared_engine, text, model), wish_of(wanted))
            assert_proven(shared_engine, model, rows)
            assert_beside_liblinear(model, rows)
            checked += 1
            several += model.bags > 1
    assert checked >= 2
    assert several >= 1


@pytest.mark.thin(3)
@pytest.mark.parametrize("shape", SHAPES)
def test_scores_are_the_same_everywhere(engine: Engine, shape: str) -> None:
    """A stored model in memory, as a prediction, as an expression over outputs and over the query's own."""
    make, maps = SHAPES[shape]
    join = make(np.random.default_rng(2))
    join.create(engine)
    wanted = training(map=tuple(maps), nulls="mean", categorical=join.categorical, lam=1e-2, sample=1000)
    first = train(engine, "m", join.query, wanted)
    model = Model.from_json(json.loads(json.dumps(first.as_json())))
    assert model.maps
    assert (model.maps, model.as_json()) == (first.maps, first.as_json())
    found = engine.fetch(predict(engine, model))
    np.testing.assert_allclose(scores(model, found), found["score"], rtol=1e-9, atol=1e-9)
    score = parse_one(score_sql(model), read=engine.dialect).as_("s")
    again = engine.fetch(exp.select(score).from_(query_rows(engine, model).subquery("r")))["s"]
    np.testing.assert_allclose(np.sort(again), np.sort(found["score"]), rtol=1e-9, atol=1e-9)
    own = join.query.replace("SELECT ", f"SELECT {score_sql(model, of='query')} AS score, ", 1)
    np.testing.assert_allclose(np.sort(asked(engine, own)["score"]), np.sort(found["score"]), rtol=1e-9, atol=1e-9)
    right = (found["score"] > 0) == (np.asarray(found["y"]) > 0)
    assert evaluate_model(engine, model).accuracy.value == pytest.approx(right.mean(), abs=2e-3)


def test_rows_that_the_database_made_have_maps(engine: Engine) -> None:
    """The rows are made without the columns of the maps."""
    table(engine)
    text = "SELECT t.y, t.x, TIMESTAMP '2024-01-01' + t.i * INTERVAL '1 hour' AS at FROM rows_t t"
    part = "(SELECT DISTINCT t.* FROM rows_t t) AS t"
    options = training(lam=1e-2, map=("date:at",))
    one, other = (train(engine, "m", query, options) for query in (text, text.replace("rows_t t", part)))
    assert "the database made" in other.notes[0]
    assert one.objective_upper == pytest.approx(other.objective_upper, rel=1e-9)


def test_a_curve_is_found(engine: Engine) -> None:
    """The label is inside of a band, where a line is of no use."""
    text, _ = table(engine)
    band = text.replace("t.y", "ABS(t.x - 50) < 14 AS y")
    line, curve = (train(engine, "m", band, training(map=maps)) for maps in ((), ("spline:x:8",)))
    assert curve.objective < 0.3 * line.objective


def crossed(rows: int = 400) -> tuple[str, dict[str, Values]]:
    """The label is whether two numbers have the same sign, which no sum of curves says."""
    rng = np.random.default_rng(6)
    x, z = np.round(rng.normal(1000.0, 3.0, rows), 2), np.round(rng.normal(size=rows), 2)
    columns: dict[str, Values] = {"y": (x > 1000.0) == (z > 0.0), "x": x, "z": z, "n": np.round(x / 2.0)}
    return "CREATE TABLE crossed (y BOOLEAN, x FLOAT8, z FLOAT8, n FLOAT8)", columns


@pytest.mark.slow
def test_a_network_finds_what_curves_do_not(engine: Engine) -> None:
    """Of two classes, of more, and of numbers."""
    create, columns = crossed()
    build(engine, create)
    engine.copy_in(meant(engine, "crossed"), columns)
    text = "SELECT {}, t.x, t.z FROM crossed t"
    corners = "CASE WHEN t.y THEN 'same' WHEN t.z > 0 THEN 'left' ELSE 'right' END AS y"
    for label in ("t.y", corners):
        svcs = (RelationalSVC(map=[map], lam=1e-4) for map in ("auto", "net:t:8"))
        found = [svc.fit(engine, text.format(label), "y").evaluate(part=None) for svc in svcs]
        right = [MEASURES["accuracy"].value(f) or 0.0 for f in found]
        assert right[0] < (0.8 if label == "t.y" else right[1])
        assert right[1] > 0.9
    number = text.format("ABS(t.x - 1000) * t.z AS y")
    linear, curved = (
        train(engine, "m", number, training(loss="squared", map=map, lam=1e-4)) for map in ((), ("net:t:8",))
    )
    assert curved.objective < 0.5 * linear.objective


def test_networks_and_trees_learn_from_no_row_that_is_held_out(engine: Engine) -> None:
    """Whatever other maps there are, the rows are those that the training holds out. Trees leave some to choose by."""
    create, columns = crossed()
    build(engine, create)
    engine.copy_in(meant(engine, "crossed"), columns)
    text, held = "SELECT t.y, t.x, t.z, t.n FROM crossed t", Holdout(0.4, 2)
    options = ProblemOptions("y", map=("spline:x:3", "poly2:t", "pca:2"), by="n")
    final, query = labelled(engine, text, options, held=held), read_query(engine, text, label="y")
    used = [f for f in query.features if f.name in "xz"]
    examples, labelled_rows = examples_of(Facts(engine), query, ProblemOptions("y"), 2, held=held)
    found, grown = examples(used, 20_000), labelled_rows(used, 20_000)
    seen = set(map(tuple, np.round(found.x, 2).tolist()))
    half = set(map(tuple, np.round(np.column_stack([grown.columns[n] for n in "xz"]), 2).tolist()))
    for part in PARTS:
        rows = part_of(part)(final, Facts(engine)).relation("t").rows([(f.expression.copy(), f.name) for f in used])
        known = set(map(tuple, np.column_stack(list(engine.fetch(rows).values())).tolist()))
        assert len(known) > 100
        for learned_from in (seen, half):
            assert learned_from & known == (learned_from if part == "train" else set())
    assert 0.3 < grown.grows.mean() < 0.7


def test_trees_find_what_curves_do_not(engine: Engine) -> None:
    """Of two classes, of more, and of numbers, on rows that were held out; and `show` says where they split."""
    create, columns = crossed(2000)
    build(engine, create)
    engine.copy_in(meant(engine, "crossed"), columns)
    text = "SELECT {}, t.x, t.z FROM crossed t"
    corners = "CASE WHEN t.y THEN 'same' WHEN t.z > 0 THEN 'left' ELSE 'right' END AS y"
    for label in ("t.y", corners):
        svc = RelationalSVC(map=["trees:20:4"], holdout=0.3, lam=1e-3).fit(engine, text.format(label), "y")
        assert (MEASURES["accuracy"].value(svc.evaluate()) or 0.0) > 0.9
        assert label == corners or all("x" in line and "z" in line for line in leaves(svc.model_))
    number = text.format("ABS(t.x - 1000) * t.z AS y")
    linear, grown = (train(engine, "m", number, training(loss="squared", map=map)) for map in ((), ("trees:20:6",)))
    assert grown.objective < 0.5 * linear.objective


def test_leaves_say_dates_as_dates(duckdb: Engine) -> None:
    days = np.arange(400)
    dates = np.datetime64("2020-01-01") + days
    build(duckdb, "CREATE TABLE born (y BOOLEAN, day DATE)")
    duckdb.copy_in(meant(duckdb, "born"), {"y": (days >= 100) & (days < 250), "day": dates.astype(object)})
    svc = RelationalSVC(map=["trees:3:4"], lam=1e-3).fit(duckdb, "SELECT b.y, b.day FROM born b", "y")
    ends = {word for line in leaves(svc.model_) for word in line.split() if word.startswith("20")}
    assert ends
    assert all(min(abs(date.fromisoformat(end) - split).days for split in SPLITS_OF_DATES) < 12 for end in ends)


SPLITS_OF_DATES = date(2020, 4, 10), date(2020, 9, 7)


def test_trees_that_add_nothing_are_left_out(duckdb: Engine) -> None:
    """Where a line says all, the training is the one without them; a program is compiled with the same lambda."""
    rng = np.random.default_rng(8)
    x, z = rng.normal(size=(2, 1500))
    columns: dict[str, Values] = {"y": x + z + rng.normal(size=1500) > 0.0, "x": x, "z": z}
    build(duckdb, "CREATE TABLE line (y BOOLEAN, x FLOAT8, z FLOAT8)")
    duckdb.copy_in(meant(duckdb, "line"), columns)
    text = "SELECT t.y, t.x, t.z FROM line t"
    linear, without = (RelationalSVC(map=map).fit(duckdb, text, "y").model_ for map in ([], ["trees:20:4"]))
    assert not without.maps
    assert without.notes[-1].startswith("trees are left out: the auc on rows not seen is 0.8")
    assert (without.lam, without.objective_upper) == (linear.lam, linear.objective_upper)
    measures = [RelationalSVC(map=map, folds=3).fit(duckdb, text, "y").model_.validation for map in ([], ["trees:9:4"])]
    assert measures[0]["auc"].mean == measures[1]["auc"].mean
    found = settled_on(duckdb, text, training(map=("trees:20:4",), lam="auto"))
    assert (found.map, found.lam) == ((), linear.lam)


def test_the_estimator(engine: Engine) -> None:
    join = star(np.random.default_rng(0))
    join.create(engine)
    svc = RelationalSVC(map=["auto"], lam=1e-3).fit(engine, join.query, "y")
    assert {"size_spline1", "qty_spline3"} <= set(svc.feature_names_in_)
    found = engine.fetch(predict(engine, svc.model_))
    np.testing.assert_allclose(svc.decision_function(found), found["score"], rtol=1e-9, atol=1e-9)
    rates = svc.evaluate(part=None)
    assert isinstance(rates, Evaluation)
    assert rates.accuracy.value > 0.8


# -- refusals ----------------------------------------------------------------------------------------------------------


BAD: list[tuple[str, type[SqlsvmError], str]] = [
    ("spline:sise", OptionError, "the query has no feature sise"),
    ("spline:size:1", OptionError, "KNOTS must be a whole number from 2 to 1000, not 1"),
    ("spline:size:5:9", OptionError, "DEGREE must be a whole number from 1 to 5, not 9"),
    ("spline:open", OptionError, "open is no number, it is true or false"),
    ("bins:size", OptionError, "K is missing"),
    ("poly2:shops", OptionError, "the query has no relation shops"),
    ("fourier:st:0", OptionError, "D must be a whole number from 1 to 1000, not 0"),
    ("fourier:st:5:0", OptionError, "GAMMA must be a number above 0, not 0"),
    ("nystroem:st:5:-1", OptionError, "GAMMA must be a number above 0, not -1"),
    ("nystroem:st:41", OptionError, "st has 40 different rows, and so at most as many landmarks"),
    ("hash:size:5", OptionError, "size has no categories"),
    ("net:st:0", OptionError, "D must be a whole number from 1 to 100, not 0"),
    ("trees:0", OptionError, "NUMBER must be a whole number from 1 to 1000, not 0"),
    ("trees:9:1", OptionError, "LEAVES must be a whole number from 2 to 64, not 1"),
    ("net:shops", OptionError, "the query has no relation shops"),
    ("pca:0", OptionError, "K must be a whole number from 1 to 1000, not 0"),
    ("pca:6", OptionError, "the query has 5 numbers, which have 5 components"),
]


def test_bad_maps_are_refused(engine: Engine) -> None:
    star(np.random.default_rng(0)).create(engine)
    query = star(np.random.default_rng(0)).query
    for map, kind, said in BAD:
        with pytest.raises(kind) as raised:
            train(engine, "m", query, training(map=(map,)))
        assert said in raised.value.message
        assert raised.value.hint
    with pytest.raises(OptionError, match="a list of maps, each of the form"):
        training(map=("splines:size",))
    with pytest.raises(QueryError, match="two columns are called size_spline1"):
        train(engine, "m", query, training(map=("spline:size", "spline:size:4")))


def test_maps_of_odd_columns_are_refused(engine: Engine) -> None:
    build(engine, "CREATE TABLE odd (y BOOLEAN, c FLOAT8, n FLOAT8, e FLOAT8, t TEXT)")
    columns = {
        "y": np.arange(9) % 2 == 0,
        "c": np.ones(9),
        "n": np.array([np.nan, *range(8)], dtype=float),
        "e": np.ma.array(np.zeros(9), mask=True),
        "t": np.array(["a"] * 9, dtype=object),
    }
    engine.copy_in(meant(engine, "odd"), columns)
    for map, said in (("c", "c is constant"), ("n", "n is NaN or infinite"), ("e", "no row of odd has a value in e")):
        with pytest.raises(DataError, match=said):
            train(engine, "m", "SELECT y, c, n, e, t FROM odd", training(map=(f"spline:{map}",)))
    for text, said in (
        ("y, t", "the query has no feature that is a number"),
        ("y, c", "the query has 1 number, which has 0 components"),
    ):
        with pytest.raises(OptionError, match=said):
            train(engine, "m", f"SELECT {text} FROM odd", training(map=("pca:1",)))
    with pytest.raises(DataError, match="all numbers of odd are constant"):
        train(engine, "m", "SELECT y, c FROM odd", training(map=("fourier:odd:3",)))
    with pytest.raises(OptionError, match="t is no number, it has categories"):
        train(engine, "m", "SELECT y, c, t FROM odd", training(map=("bins:t:3",)))
    with pytest.raises(DataError, match="no row of odd has a value in c and e"):
        train(engine, "m", "SELECT y, c, e FROM odd", training(map=("poly2:odd",)))


def test_components_of_rows_that_do_not_meet_are_refused(engine: Engine) -> None:
    join = JOINS["chain"](np.random.default_rng(0))
    join.create(engine)
    with pytest.raises(QueryError) as raised:
        train(engine, "m", join.query, training(map=("pca:2",)))
    assert raised.value.message == "map='pca:2' needs l, m and r in one row"
    assert "a row of l can match several rows of m and r, and the reverse" in (raised.value.detail or "")
    of_one = train(engine, "m", join.query.replace("l.a, l.b, ", "").replace(", r.c", ""), training(map=("pca:2",)))
    assert [w.feature for w in of_one.weights] == ["pca1", "pca2"]


def test_a_null_stays_null(engine: Engine) -> None:
    """Unless --nulls says otherwise, it is refused under the name of the new column."""
    left_join(np.random.default_rng(1)).create(engine)
    query = left_join(np.random.default_rng(1)).query.replace("NULLIF(c.z, 0) AS z, ", "")
    with pytest.raises(DataError, match="feature rate_spline1 is NULL in"):
        train(engine, "m", query, training(map=("spline:rate:4",), nulls="error"))


# -- psql --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        "star",
        *(
            pytest.param(s, marks=pytest.mark.slow)
            for s in ("landmarks", "left join", "hash", "pca", "network", "trees of NULLs")
        ),
    ],
)
def test_psql_trains_and_predicts(installed: Engine, installed_dsn: str, shape: str) -> None:
    """Without Python: the same optimum, and to the last bits the same scores."""
    make, maps = (star, ["hash:store:5", "bins:price:3"]) if shape == "hash" else SHAPES[shape]
    join = make(np.random.default_rng(4))
    query = join.query.replace("SELECT s.y", "SELECT s.y, s.store") if shape == "hash" else join.query
    categorical = ("store",) if shape == "hash" else ()
    with join.created(installed):
        wanted = training(map=tuple(maps), nulls="mean", lam=1e-2, sample=1000, categorical=categorical)
        compiled(installed, "mapped", query, wanted)
        model = trained(installed, installed_dsn, "mapped")
        driven = train(installed, "driven", query, wanted)
        assert model.maps == driven.maps
        assert max(model.lower_bound, driven.lower_bound) <= min(model.objective_upper, driven.objective_upper)
        found = installed.fetch(predict(installed, model))
        (text,) = asked(installed, "SELECT sqlsvm.score_sql('mapped') AS s")["s"]
        theirs = asked(installed, f"SELECT {text} AS score FROM ({query}) AS q")["score"]
        np.testing.assert_allclose(np.sort(theirs), np.sort(found["score"]), rtol=1e-9, atol=1e-9)
        row = "sqlsvm.decision_function('mapped', to_jsonb(q))"  # up to 28 ms for a row of a map with many steps
        each = asked(installed, f"SELECT {text} AS of_all, {row} AS of_one FROM ({query} LIMIT 50) AS q")
        np.testing.assert_allclose(each["of_one"], each["of_all"], rtol=1e-9, atol=1e-9)


# -- the report --------------------------------------------------------------------------------------------------------


def test_effects_are_drawn(engine: Engine) -> None:
    """A curve for each mapped column, over the rows of the join; its deviation is that of what it adds to the score."""
    join = star(np.random.default_rng(0))
    join.create(engine)
    model = train(engine, "m", join.query, training(map=("auto", "fourier:s:4"), lam=1e-3))
    found = gather_from(engine, model)
    assert found.missing == ()
    assert set(found.spread) == {"qty", "price", "size", "weight"}
    assert sum(found.spread["size"].rows) == model.join_rows
    first = next(effect_charts(found))
    assert first.title == "qty"
    added = effect(model, "qty", join.rows["sales"]["qty"])
    assert f"its deviation over the rows is {added.std():.2g}"[:-1] in first.said
    (curve,) = (mark for mark in first.marks if isinstance(mark, Line))
    assert np.ptp([y for _, y in curve.points]) == pytest.approx(np.ptp(added), rel=0.05)
    page = html(found, datetime(2026, 1, 1))
    assert page.count('id="effect-') >= 4
    assert "No curve of one column: fourier:s:4:" in page


# -- the text ----------------------------------------------------------------------------------------------------------

GOLDEN = Path(__file__).parents[1] / "golden" / "maps.postgres.sql"


def test_text(postgres: Engine) -> None:
    """What is kept of a spline, of landmarks, of a quotient over two tables, and of a network with these weights.
    Passes read it as they read columns. `make golden` writes it anew."""
    build(
        postgres,
        """CREATE TABLE s (k INT, y BOOLEAN, a FLOAT8); CREATE TABLE d (k INT PRIMARY KEY, b FLOAT8);
        INSERT INTO s SELECT n % 4, n % 3 = 0, n FROM generate_series(0, 8) AS g (n);
        INSERT INTO d SELECT n, n * n FROM generate_series(0, 3) AS g (n)""",
    )
    text = "SELECT s.y, s.a, d.b, s.a / (1 + d.b) AS q FROM s JOIN d ON d.k = s.k"
    options = ProblemOptions("y", map=("spline:a:3:1", "bins:q:2", "nystroem:d:1:0.5"))
    query = labelled(postgres, text, options)
    (d,) = (f for f in query.features if f.name == "b")
    layers = (np.array([[0.5, -1.0]]), np.array([0.25, 0.0])), (np.array([[1.0], [-2.0]]), np.array([0.125]))
    network = compiled_network([d], np.array([3.5]), *layers)
    plan, _ = planned(Facts(postgres), labelled(postgres, text, options, (*query.maps, network)), options)
    found = "\n".join(written(statement) for statement in working_tables(plan))
    if os.environ.get("SQLSVM_UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")
