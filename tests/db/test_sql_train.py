"""sqlsvm.train through psql, compared with the driver and LIBLINEAR on the same rows."""

import re
from dataclasses import astuple, replace
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.engine.base import Engine, Text
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import Counting, LossName
from sqlsvm.psql.install import install
from sqlsvm.psql.stored_program import own_relation, save_program, stored_program
from sqlsvm.run.opening import labelled
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import rendered
from sqlsvm.store import open_store
from tests.evaluating import evaluate_model
from tests.ground import svm
from tests.ground.joins import JOINS, Join, towns
from tests.ground.opened import Wish, build, truth
from tests.ground.schemas import random_world
from tests.ground.sql_program import call, compiled, trained
from tests.ground.trained import assert_beside_liblinear, assert_proven, training, wish_of
from tests.psql import complaint, psql
from tests.sized import sized
from tests.typed import asked, typed

TOL = 1e-3


@pytest.fixture
def dsn(installed_dsn: str) -> str:
    return installed_dsn


def assert_parity(engine: Engine, dsn: str, shape: str, join: Join, lam: float, counting: Counting) -> None:
    """The same objective as the driver's within tol, in at most twice its passes, and a proof that holds."""
    asked = training(nulls="mean", categorical=join.categorical, lam=lam, counting=counting)
    with join.created(engine):
        compiled(engine, shape, join.query, asked)
        model = trained(engine, dsn, shape)
        rows = truth(engine, join.query, wish_of(asked))
        assert model.converged
        assert model.counting == (counting if model.bags > 1 else "exact")
        assert_proven(engine, model, rows)
        assert_beside_liblinear(model, rows, max_iter=2000)
        driven = train(engine, shape, join.query, asked)
        assert model.objective_upper <= (1 + TOL) * driven.objective_upper
        assert driven.objective_upper <= (1 + TOL) * model.objective_upper
        few = replace(asked, sample=min(int(model.join_rows) - 1, 20_000))
        sampled = train(engine, shape, join.query, few)  # not read whole, which psql does not do
        assert model.passes <= (2 if len(model.weights) <= 200 else 3) * sampled.passes
        assert {(w.feature, str(w.category)) for w in model.weights} == {
            (w.feature, str(w.category)) for w in driven.weights
        }
        assert model.label_rows == driven.label_rows
        assert model.trained_on.label_values == driven.trained_on.label_values


@pytest.mark.parametrize(("shape", "counting"), [("chain", "grid"), ("left join", "exact"), ("heap", "exact")])
def test_parity(installed: Engine, dsn: str, shape: str, counting: Counting) -> None:
    assert_parity(installed, dsn, shape, JOINS[shape](np.random.default_rng(3)), 1e-3, counting)


OF_ONE_BAG = "star", "left join", "heap"
"""These are counted exactly, whatever is asked for."""
EVERYWHERE = [
    (shape, lam, counting)
    for shape, lam, counting in product(JOINS, (1e-1, 1e-2, 1e-3, 1e-4, 1e-5), ("exact", "grid"))
    if counting == "exact" or lam == 1e-3 or shape not in OF_ONE_BAG
]


@pytest.mark.slow
@pytest.mark.thin(11)
@pytest.mark.parametrize(("shape", "lam", "counting"), EVERYWHERE)
def test_parity_everywhere(installed: Engine, dsn: str, shape: str, lam: float, counting: Counting) -> None:
    assert_parity(installed, dsn, shape, JOINS[shape](np.random.default_rng(3)), lam, counting)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "shops", "lam"),
    [
        pytest.param(50, 0, 1e-4, marks=pytest.mark.nightly),
        pytest.param(150, 0, 1e-3, marks=pytest.mark.nightly),
        pytest.param(220, 0, 1e-3, marks=pytest.mark.nightly),
        (220, 0, 1e-4),
        (150, 80, 1e-3),
        pytest.param(150, 80, 1e-4, marks=pytest.mark.nightly),
    ],
)
def test_parity_of_many_weights(installed: Engine, dsn: str, values: int, shops: int, lam: float) -> None:
    """On either side of 200, some of them rare."""
    assert_parity(installed, dsn, "towns", towns(np.random.default_rng(3), values, shops), lam, "exact")


@pytest.mark.parametrize("shape", ["star", pytest.param("categories", marks=pytest.mark.slow)])
def test_the_driver_reads_it(installed: Engine, dsn: str, shape: str) -> None:
    """evaluate and predict of the driver on a model from psql, and sqlsvm.evaluate, say the same."""
    join = JOINS[shape](np.random.default_rng(3))
    with join.created(installed):
        compiled(installed, "read", join.query, training(categorical=join.categorical, tol=0.1))
        model = trained(installed, dsn, "read")
        assert model.seconds == pytest.approx(sum(record["seconds"] for record in model.history))
        assert set(model.phases) == {"passes", "other"}
        assert model.total_seconds is not None
        assert 0 < model.phases["passes"] == model.seconds < model.total_seconds
        seen = evaluate_model(installed, model)
        found = {row["measure"]: row["value"] for row in call(dsn, "evaluate", "read")}
        assert found["auc"] == pytest.approx(seen.auc.value if seen.auc else None, rel=1e-12)
        predictions = installed.fetch(predict(installed, model))["prediction"].tolist()
        assert sum(map(bool, predictions)) == found["true_positive"] + found["false_positive"]


def test_soft_passes_follow_each_other(installed: Engine, dsn: str) -> None:
    """For another lambda the stored start leaves a pass or more to do."""
    join = JOINS["heap"](np.random.default_rng(3))
    with join.created(installed):
        compiled(installed, "soft", join.query, training(lam=1e-2, sample=1000))
        model = trained(installed, dsn, "soft", lam=1e-3)
        assert model.converged
        assert 1 < model.passes <= 4
        assert_proven(installed, model, truth(installed, join.query, Wish(scale="standard")))


def test_a_heap_is_found_when_a_program_is_compiled(installed: Engine, dsn: str) -> None:
    """From a sample alone, psql took 11 passes here, and the driver 3."""
    join = JOINS["categories"](np.random.default_rng(3))
    few = training(
        lam=1e-3, sample=1000, in_memory=0, constrain=("decreasing:x",), categorical=join.categorical, nulls="mean"
    )
    with join.created(installed):
        program = stored_program(installed, join.query, few)
        save_program(installed, "settled", program)
        model = trained(installed, dsn, "settled")
        driven = train(installed, "settled", join.query, few)
    assert model.converged
    assert program.start["passes"] > 1
    assert program.start["passes"] + model.passes <= 2 * driven.passes
    assert model.lower_bound <= driven.objective_upper
    assert driven.lower_bound <= model.objective_upper


def test_a_weight_may_shrink_to_nothing(installed: Engine) -> None:
    """PostgreSQL calls 1e-200 * 1e-200 an error."""
    text = "SELECT sqlsvm._dot(v.v, v.v) AS square, sqlsvm._plus(v.v, 1e-200, v.v) AS more FROM (VALUES ({})) AS v (v)"
    asked = parse_one(text.format("CAST(ARRAY[1e-200, 2] AS DOUBLE PRECISION[])"), read="postgres")
    answer = installed.fetch(asked)
    assert (answer["square"][0], list(answer["more"][0])) == (4.0, [1e-200, 2.0])


def test_a_model_has_the_facts_of_the_driver(installed: Engine, dsn: str) -> None:
    """All but the notes, with the same kinds of values; the weights are of the same features in the same order."""
    join = JOINS["categories"](np.random.default_rng(3))
    with join.created(installed):
        asked = training(categorical=join.categorical, nulls="mean", lam=1e-2)
        compiled(installed, "facts", join.query, asked)
        theirs, ours = trained(installed, dsn, "facts"), train(installed, "facts", join.query, asked)
    told, meant = theirs.as_json(), ours.as_json()
    assert told.keys() == meant.keys()
    assert told["trained_on"].keys() == meant["trained_on"].keys()
    assert replace(theirs.trained_on, database=None) == replace(ours.trained_on, database=None)
    assert told["history"][0].keys() == meant["history"][0].keys()
    for name in (
        "query",
        "label",
        "lambda",
        "solver",
        "counting",
        "nulls",
        "bags",
        "join_rows",
        "label_rows",
        "options",
    ):
        assert told[name] == meant[name], name
    for one, other in zip(theirs.weights, ours.weights, strict=True):
        assert (one.feature, one.category, one.missing) == (other.feature, other.category, other.missing)
        assert one.scaled_weight == pytest.approx(other.scaled_weight, abs=0.05)
    assert {name: astuple(s) for name, s in theirs.scaling.items()} == {
        name: pytest.approx(astuple(s)) for name, s in ours.scaling.items()
    }


REPLACED = """
    DELETE FROM {table} WHERE mod(abs(hashtext(ctid::text)), 10) = 0;
    INSERT INTO {table} SELECT * FROM {table} WHERE mod(abs(hashtext(ctid::text)), 10) = 1
"""


@pytest.mark.parametrize(
    ("shape", "table", "lam"), [("star", "sales", 1e-3), ("cyclic", "ab", 1e-3), ("heap", "trips", 1e-4)]
)
def test_training_again_starts_where_the_model_is(
    installed: Engine, dsn: str, shape: str, table: str, lam: float
) -> None:
    """Also where a tenth of the rows are others by now, and although the program knows only the old ones."""
    join = JOINS[shape](np.random.default_rng(3))
    with join.created(installed):
        asked = training(lam=lam)
        compiled(installed, f"again {shape}", join.query, asked)
        trained(installed, dsn, f"again {shape}")
        build(installed, REPLACED.format(table=table))
        again = trained(installed, dsn, f"again {shape}")
        assert again.converged
        assert again.passes <= 3
        assert_proven(installed, again, truth(installed, join.query, wish_of(asked)))


def test_what_is_in_the_way_of_a_proof(installed: Engine, dsn: str) -> None:
    """Passes that may still be made, or the rounding of sums, which no pass removes."""
    join = JOINS["star"](np.random.default_rng(3))
    with join.created(installed):
        compiled(installed, "far", join.query, training(categorical=join.categorical, lam=10.0))
        few = psql(dsn, "SELECT sqlsvm.train('far', lambda => 1e-4, tol => 1e-9, max_passes => 1)").err
        assert re.search(r"NOTICE: .* not converged: the gap is \S+ and should be 0\.000000001$", few, re.M)
        assert "Give a larger max_passes or tol." in few
        rounded = psql(dsn, "SELECT sqlsvm.train('far', tol => 1e-17, max_passes => 60)").err
        assert "The rounding of sums of doubles is most of it, so more passes prove no more" in rounded
        assert any("more passes prove no more" in note for note in open_store(installed).load("far").notes)


@pytest.mark.slow
def test_more_numbers_than_have_a_dense_curvature(installed: Engine, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the numbers most eigenvectors are left out, and all categories but the share of their rows."""
    monkeypatch.setattr("sqlsvm.psql.stored_program.start.DENSE", 4)
    monkeypatch.setattr("sqlsvm.psql.stored_program.start.LARGEST", 8)
    assert_parity(installed, dsn, "star", JOINS["star"](np.random.default_rng(3)), 1e-3, "exact")
    assert_parity(installed, dsn, "categories", JOINS["categories"](np.random.default_rng(3)), 1e-2, "exact")
    assert_parity(installed, dsn, "heap", JOINS["heap"](np.random.default_rng(3)), 1e-3, "exact")


DAMAGES = {
    "objective": "'\"NaN\"'",
    "width": "'-1'",
    "rest": "'1e300'",
    "heap": "'1'",
    "columns": "'0'",
    "values": "start -> 'values' || '[-1e-9]'",
    "vectors": "start -> 'vectors' || '[0.5]'",
    "theta": '\'{"weights": {"x": "Infinity"}}\'',
    "places": "'[1, 2]'",
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("field", DAMAGES)
def test_a_damaged_start_is_refused(installed: Engine, dsn: str, field: str) -> None:
    join = JOINS["star"](np.random.default_rng(3), rows=300)  # type: ignore[call-arg]
    with join.created(installed):
        compiled(installed, "damaged", join.query, training())
        damaged = f"jsonb_set(start, '{{{field}}}', {DAMAGES[field]})"
        typed(installed, f"UPDATE sqlsvm.programs SET start = {damaged} WHERE name = 'damaged'")
        said = complaint(dsn, "SELECT sqlsvm.train('damaged');")
        assert (said["SQLSTATE"], said["MESSAGE"]) == (
            "SV002",
            f'the program "damaged" is damaged: what is stored of its start has no valid "{field}"',
        )
        assert said["HINT"].startswith("Compile it again: sqlsvm compile --name 'damaged' ")


@pytest.mark.parametrize("taken", ["sqlsvm_statements", "sqlsvm_read", "sqlsvm_vectors", "sqlsvm_r0"])
def test_a_name_that_a_run_needs_is_taken(installed: Engine, dsn: str, taken: str) -> None:
    """What another one has made in the session is neither read nor dropped."""
    join = JOINS["star"](np.random.default_rng(3), rows=300)  # type: ignore[call-arg]
    with join.created(installed):
        compiled(installed, "taken", join.query, training())
        for call in "train('taken')", "objective('taken', '{}')", "row_count('taken', '{}', 1)":
            made = f"CREATE TEMPORARY TABLE {taken} AS SELECT '{{}}'::jsonb AS still"
            if taken == "sqlsvm_vectors":
                made = f"CREATE DOMAIN pg_temp.{taken} AS text"
            said = complaint(dsn, f"{made}; SELECT sqlsvm.{call};")
            assert said["SQLSTATE"] == "SV003", call
            assert said["MESSAGE"] == f'the temporary relation "{taken}" has a name that a run of "taken" may need'
            assert said["HINT"].startswith("Drop or rename it, or use another session")


def test_after_the_last_number_of_a_version(installed: Engine, dsn: str) -> None:
    join = JOINS["star"](np.random.default_rng(3), rows=300)  # type: ignore[call-arg]
    with join.created(installed):
        compiled(installed, "last", join.query, training())
        trained(installed, dsn, "last")
        typed(installed, "UPDATE sqlsvm.models SET last_version = 2147483646 WHERE name = 'last'")
        assert trained(installed, dsn, "last").version == 2147483647
        said = complaint(dsn, "SELECT sqlsvm.train('last');")
        assert (said["SQLSTATE"], said["MESSAGE"]) == ("SV003", 'the model "last" has had 2147483647 versions')
        assert said["HINT"] == "Compile it again under another name."
    typed(installed, "DELETE FROM sqlsvm.models WHERE name = 'last'")


def test_a_damaged_model_is_no_start(installed: Engine, dsn: str) -> None:
    """The program has one. So a training replaces what cannot be read."""
    join = JOINS["star"](np.random.default_rng(3), rows=300)  # type: ignore[call-arg]
    with join.created(installed):
        compiled(installed, "unread", join.query, training())
        for body in (
            "replace(body, '\"intercept\"', '\"gone\"')",
            "replace(body, '\"weight\": ', '\"weight\": 1e200')",
        ):
            trained(installed, dsn, "unread")
            typed(installed, f"UPDATE sqlsvm.versions SET body = {body} WHERE name = 'unread'")
            assert trained(installed, dsn, "unread").converged
    typed(installed, "DELETE FROM sqlsvm.versions WHERE name = 'unread'")  # others read all versions of the session


@pytest.mark.slow
def test_the_bundle_alone(installed: Engine, dsn: str) -> None:
    join = JOINS["chain"](np.random.default_rng(5))
    with join.created(installed):
        compiled(installed, "alone", join.query, training())
        model = trained(installed, dsn, "alone", solver="bundle", lam=0.1, tol=1e-2)
        assert (model.converged, model.solver) == (True, "bundle")
        assert_proven(installed, model, truth(installed, join.query, Wish(scale="standard")))


WEIGHTED = """
    CREATE TABLE f (k INT, y TEXT, x FLOAT8, times INT);
    CREATE TABLE g (k INT PRIMARY KEY, z FLOAT8);
    INSERT INTO f
    SELECT i % 9, CASE WHEN sin(i) + sin(i % 9) > 0.4 THEN 'late' ELSE 'in time' END, sin(i * 7), 1 + i % 3
    FROM generate_series(1, 400) AS i;
    INSERT INTO g SELECT i, sin(i) FROM generate_series(0, 8) AS i
"""
BY_WEIGHT = "SELECT f.y, f.x, f.times, g.z FROM f JOIN g ON g.k = f.k"
UNWEIGHTED = "SELECT f.y, f.x, g.z FROM f JOIN g ON g.k = f.k"


@pytest.mark.parametrize(
    ("query", "options"),
    [
        pytest.param(BY_WEIGHT, {"weight": "times"}, marks=pytest.mark.slow),
        pytest.param(UNWEIGHTED, {"class_weight": (1.0, 3.0)}, marks=pytest.mark.slow),
        (UNWEIGHTED, {"class_weight": "balanced"}),
        pytest.param(UNWEIGHTED, {"intercept": False, "scale": "maxabs"}, marks=pytest.mark.slow),
        (BY_WEIGHT, {"weight": "times", "class_weight": (2.0, 1.0), "scale": "none"}),
    ],
)
def test_weights_and_scales(postgres: Engine, postgres_dsn: str, query: str, options: dict[str, Any]) -> None:
    build(postgres, WEIGHTED)
    install(postgres)
    asked = training(positive="late", lam=1e-2, **options)
    compiled(postgres, "w", query, asked)
    model, driven = trained(postgres, postgres_dsn, "w"), train(postgres, "w", query, asked)
    assert model.converged
    assert model.objective_upper == pytest.approx(driven.objective_upper, rel=TOL)
    assert model.lower_bound <= driven.objective_upper
    assert driven.lower_bound <= model.objective_upper
    assert (model.label_rows, model.intercept == 0) == (driven.label_rows, driven.intercept == 0)
    centred = sum(w.weight * model.scaling[w.feature].centre for w in model.weights)
    assert model.scaled_intercept == pytest.approx(model.intercept + centred, abs=1e-12)
    for name, scale in driven.scaling.items():
        assert astuple(model.scaling[name]) == pytest.approx(astuple(scale), rel=1e-9)
    class_weight = options.get("class_weight", (1.0, 1.0))
    if isinstance(class_weight, tuple):
        whole = int(class_weight[0]), int(class_weight[1])
        rows = truth(postgres, query, wish_of(asked, class_weights=whole))
        assert_proven(postgres, model, rows, int(sum(model.label_rows.values())))
    assert call(postgres_dsn, "objective", "w")[0]["objective"] == pytest.approx(model.objective, rel=1e-9)


@pytest.mark.slow
def test_settings_of_a_session_change_no_result(postgres: Engine, postgres_dsn: str) -> None:
    """The text of a day, of a span, and of a backslash depends on them."""
    install(postgres)
    build(postgres, "CREATE TABLE d (y BOOLEAN, day DATE, span INTERVAL, path TEXT, x FLOAT8)")
    fill = """INSERT INTO d SELECT i % 5 < 2, date '2024-03-01' + i % 40, make_interval(days => -(i % 3), mins => i),
        'a' || chr(92) || 'n' || i % 4, sin(i) FROM generate_series(1, 400) AS i"""
    typed(postgres, parse_one(fill, read="postgres"))
    query = "SELECT y, day::text AS day, span::text AS span, path, x FROM d"
    compiled(postgres, "days", query, training(lam=1e-2))
    odd = "-c DateStyle=German,DMY -c IntervalStyle=sql_standard -c standard_conforming_strings=off"
    beta = {"weights": {"path": {"a\\n1": 1.0}, "day": {"2024-03-05": 2.0}, "span": {"-1 days +00:01:00": 3.0}, "x": 1}}
    found = []
    for dsn in (postgres_dsn, f"{postgres_dsn} options='{odd}'"):
        model = trained(postgres, dsn, "days")
        asked_of = ("objective", "pseudo_gradient", "row_count", "generalized_row_count", "evaluate")
        found.append([model.weights, model.objective, *(call(dsn, function, "days", beta) for function in asked_of)])
        found[-1].append(
            call(dsn, "decision_function", "days", {"day": "2024-03-05", "span": "x", "path": "a\\n1", "x": 1})
        )
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_fresh_data(postgres: Engine, postgres_dsn: str, loss: LossName) -> None:
    """New rows, new categories before the old ones, NULLs that were not there: a program trains on what it finds."""
    install(postgres)
    build(postgres, "CREATE TABLE f (y BOOLEAN, c TEXT, d INT, x FLOAT8)")
    fill = "INSERT INTO f SELECT i % 3 > 0, 'c' || i % {c}, i % {d}, {x} FROM generate_series(1, 300) AS i"
    typed(postgres, parse_one(fill.format(c=2, d=3, x="sin(i) + i % 3"), read="postgres"))
    asked = training(categorical=("d",), nulls="mean", lam=1e-2, loss=loss)
    query = "SELECT y, c, d, x FROM f"
    compiled(postgres, "fresh", query, asked)
    model = trained(postgres, postgres_dsn, "fresh")
    if loss == "hinge":
        assert_proven(postgres, model, truth(postgres, query, wish_of(asked)))
    typed(postgres, parse_one(fill.format(c=7, d=5, x="NULLIF(i % 4, 2)"), read="postgres"))
    typed(postgres, parse_one("UPDATE f SET c = NULL WHERE c = 'c1' AND d = 0", read="postgres"))
    model = trained(postgres, postgres_dsn, "fresh")
    assert (model.version, model.join_rows) == (2, 600)
    assert len({w.category for w in model.weights if w.feature == "c"}) == 7
    assert model.converged  # although the curvature is that of other rows
    assert model.passes < 50
    if loss == "hinge":
        assert_proven(postgres, model, truth(postgres, query, wish_of(asked)))


# -- all kinds of categories -------------------------------------------------------------------------------------------

CATEGORIES = {
    "character(3)": ("UA", "DAL", "A"),
    "citext": ("Red", "blue", "GREEN"),
    "colour": ("Red", "blue", "GREEN"),
    "numeric(6,2)": ("7", "7.1", "0.25"),
    "numeric(6,0)": ("7", "8", "100"),
    "double precision": ("7", "0.1", "1e22"),
    "real": ("7", "0.1", "16777216"),
    "bigint": ("9007199254740992", "9007199254740993", "9007199254740994"),
    "boolean": ("true", "false", "false"),
}
CASELESS = ("citext", "colour")
OF_CATEGORIES = "SELECT y, c, x FROM f"


def of_categories(engine: Engine, type: str) -> Training:
    """f (i, y, c, x), where c says much of y. In psql as in the driver the model is to be called t."""
    install(engine)
    if type in CASELESS:
        typed(engine, "CREATE EXTENSION citext")
        typed(engine, "CREATE DOMAIN colour AS citext")
    typed(engine, f"CREATE TABLE f (i INT, y BOOLEAN, c {type}, x FLOAT8)")
    values = ", ".join(f"'{value}'" for value in CATEGORIES[type])
    rows = f"SELECT i, i % 7 < 2 * (i % 3) + 1, (ARRAY[{values}])[i % 3 + 1]::{type}, sin(i)"
    typed(engine, f"INSERT INTO f {rows} FROM generate_series(1, 300) AS i")
    asked = training(categorical=("c",), lam=1e-2)
    compiled(engine, "t", OF_CATEGORIES, asked)
    return asked


def kept(engine: Engine, model: Model) -> Model:
    """As the newest version of t, and read again."""
    store = open_store(engine)
    store.save(replace(model, name="t"))
    return store.load("t")


def assert_alike(engine: Engine, dsn: str, model: Model) -> None:
    """The newest version of t says the same of every row, and of all rows, wherever it is asked."""
    assert all(w.weight for w in model.weights if w.category is not None)
    scores = by_i(engine, predict(engine, model, "f"))
    (expression,) = asked(engine, "SELECT sqlsvm.score_sql('t') AS score")["score"]
    assert by_i(engine, Text(f"SELECT i, {expression} AS score FROM f ORDER BY i")) == scores
    function = "SELECT i, sqlsvm.decision_function('t', to_jsonb(f)) AS score FROM f ORDER BY i"
    assert by_i(engine, Text(function)) == scores
    svc = RelationalSVC(1e-4)
    svc._take(model)
    rows = asked(engine, "SELECT y, c, x FROM f ORDER BY i")
    np.testing.assert_allclose(svc.decision_function(rows), scores, rtol=1e-12, atol=1e-12)
    predicted = asked(engine, "SELECT sqlsvm.predict('t', to_jsonb(f)) AS p FROM f ORDER BY i")["p"]
    assert [str(p).lower() for p in svc.predict(rows)] == predicted.tolist()
    seen = evaluate_model(engine, model)
    found = {row["measure"]: row["value"] for row in call(dsn, "evaluate", "t")}
    assert seen.auc is not None
    auc = metrics.roc_auc_score(rows["y"], scores)
    assert [seen.auc.value, found["auc"]] == pytest.approx([auc, auc], rel=1e-9)
    right = float(np.mean((np.array(scores) > 0) == rows["y"]))
    assert [seen.accuracy.value, found["accuracy"]] == pytest.approx([right, right], rel=1e-9)


def by_i(engine: Engine, rows: exp.Query | Text) -> list[float]:
    found = asked(engine, rows)
    return list(found["score"][np.argsort(found["i"])].tolist())


@pytest.mark.slow
@pytest.mark.thin(10)
@pytest.mark.parametrize("type", CATEGORIES)
def test_a_category_weighs_the_same_everywhere(postgres: Engine, postgres_dsn: str, type: str) -> None:
    """Of models from psql and from the driver, in SQL over columns, of JSON, in memory, and over the whole join."""
    asked = of_categories(postgres, type)
    theirs = trained(postgres, postgres_dsn, "t")
    assert_alike(postgres, postgres_dsn, theirs)
    ours = kept(postgres, train(postgres, "t", OF_CATEGORIES, asked))
    assert ours.trained_on.caseless == theirs.trained_on.caseless == (("c",) if type in CASELESS else ())
    assert_alike(postgres, postgres_dsn, ours)
    assert [(w.feature, w.category) for w in theirs.weights] == [(w.feature, w.category) for w in ours.weights]
    if type in CASELESS:
        typed(postgres, "UPDATE f SET c = upper(c::text)::citext")
        assert_alike(postgres, postgres_dsn, ours)


def test_a_padded_category_without_its_blanks(postgres: Engine, postgres_dsn: str) -> None:
    """A cast drops them, and leads to the same categories. What is printed is the column as it was."""
    asked = of_categories(postgres, "character(3)")
    models = [trained(postgres, postgres_dsn, "t")]
    models += [train(postgres, "t", OF_CATEGORIES, replace(asked, offload=offload)) for offload in (False, True)]
    for model in models:
        assert {w.category for w in model.weights if w.category} == {"UA", "DAL", "A"}
        columns = postgres.describe(predict(postgres, model))
        assert [column.type for column in columns if column.name == "c"] == ["character(3)"]
        scores = by_i(postgres, predict(postgres, model, "f"))
        assert by_i(postgres, predict(postgres, model, "SELECT i, c::text AS c, x FROM f")) == scores


@pytest.mark.slow
def test_padded_categories_of_an_older_sqlsvm(
    postgres: Engine, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took them as they came, with blanks. Its programs have to be compiled again."""
    with monkeypatch.context() as older:
        older.setattr("sqlsvm.engine.postgres.spelling", lambda type: "exact")
        asked = of_categories(postgres, "character(3)")
        model = train(postgres, "t", OF_CATEGORIES, asked)
    model = replace(model, trained_on=replace(model.trained_on, padded=None, caseless=()))
    assert {w.category for w in model.weights if w.category} == {"UA ", "DAL", "A  "}
    assert_alike(postgres, postgres_dsn, kept(postgres, model))
    compiled(postgres, "t", OF_CATEGORIES, asked)
    assert_alike(postgres, postgres_dsn, kept(postgres, model))


@pytest.mark.parametrize(
    ("type", "spellings"),
    [
        ("numeric(6,2)", ("7", "7.0", "7.00", "+7", "70e-1")),
        ("real", ("0.1", "1e-1", "0.10000000149011612")),
        ("citext", ("Red", "RED")),
        ("colour", ("Red", "RED")),
    ],
)
def test_weights_by_any_name_of_a_category(
    postgres: Engine, postgres_dsn: str, type: str, spellings: tuple[str, ...]
) -> None:
    """What is no number, or none of this size, is a category that no row has."""
    of_categories(postgres, type)
    more = {"none": 2.0, "1e50": 3.0, "1e-50": 3.0, "1e99999": 3.0, "NaN": 3.0, "": 4.0}
    betas = [{"weights": {"c": more | {spelling: 1.0}}} for spelling in spellings]
    found = [call(postgres_dsn, "objective", "t", beta)[0]["objective"] for beta in betas]
    assert found == [found[0]] * len(spellings)
    assert found[0] != call(postgres_dsn, "objective", "t", {"weights": {"c": more}})[0]["objective"]


# -- random worlds -----------------------------------------------------------------------------------------------------


def assert_world(engine: Engine, dsn: str, seed: int) -> bool:
    """Of any shape, with evil names; whether there was something to train on."""
    rng = np.random.default_rng(seed)
    world = random_world(rng, max_relations=3, continuous=seed % 3 == 0)
    assert world.label
    scale: svm.Scale = ("standard", "none", "maxabs")[seed % 3]
    nulls: svm.Nulls = "mean" if seed % 2 else "drop"
    counting: Counting = "grid" if seed % 4 < 2 else "exact"
    asked = training(world.label.name, nulls=nulls, scale=scale, counting=counting, lam=float(10.0 ** -(seed % 4)))
    with world.created(engine) as live:
        text = live.query("postgres")
        rows = truth(engine, text, wish_of(asked))
        if len(set(rows.y.tolist())) < 2:
            return False
        compiled(engine, f"world {seed}", text, asked)
        model = trained(engine, dsn, f"world {seed}", max_passes=6)
        assert_proven(engine, model, rows)
        assert_beside_liblinear(model, rows)
    return True


def test_a_world(installed: Engine, dsn: str) -> None:
    assert assert_world(installed, dsn, seed=1)


@pytest.mark.slow
@pytest.mark.thin(10)
@pytest.mark.parametrize("first", [6, 38])
def test_many_worlds(installed: Engine, dsn: str, first: int) -> None:
    assert sum(assert_world(installed, dsn, seed) for seed in range(first, first + 32)) >= 10


# -- the same SQL ------------------------------------------------------------------------------------------------------


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["categories", *(pytest.param(s, marks=SLOW) for s in JOINS if s != "categories")])
def test_the_sql_is_the_drivers(
    postgres: Engine, statements: list[str], shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored and what the driver sends differ in where rows are read, in how parameters are numbered, and in
    what the driver knows of the data: the categories, keys that always find a partner, a table that can be thinned,
    where one scan costs less. A stored program also counts the rows of each category."""
    monkeypatch.setattr("sqlsvm.plan.design.FEW", 0)
    sized(monkeypatch, rows_a_key=10**9, rows_a_place=10**9, thinned=10**9)
    monkeypatch.setattr(postgres, "rates", replace(postgres.rates, column=inf))
    monkeypatch.setattr("sqlsvm.psql.stored_program.make.CATEGORIES", frozenset())
    join = JOINS[shape](np.random.default_rng(3))
    join.create(postgres)
    asked = training(categorical=join.categorical, nulls="drop", tol=0.5, counting="grid", sample=5)  # not all rows
    statements.clear()
    train(postgres, shape, join.query, asked)
    told = [text for text in statements if not text.startswith(("BEGIN", "COMMIT", "SET", "DROP"))]
    sent = {normal(text) for text in told}
    stored = own_texts(postgres, join.query, asked, "soft pass" if shape == "heap" else "pass")
    assert [text for text in stored if text not in sent] == []
    assert len(stored) > 10


def own_texts(engine: Engine, query: str, asked: Training, passes: str) -> list[str]:
    """Of the parts that training runs, over the user's relations again."""
    program = stored_program(engine, query, asked)
    relations = labelled(engine, query, asked).relations
    sources = {own_relation(i): relation.source for i, relation in enumerate(relations)}
    found = []
    for part in ("prepare", "moments", passes):
        for one in program.parts[part]:
            for sent in rendered(engine, one):
                text = parse_one(sent, read="postgres")
                for table in list(text.find_all(exp.Table)):
                    if table.name in sources:
                        table.replace(sources[table.name].copy())
                found.append(normal(text.sql("postgres")))
    return found


def normal(text: str) -> str:
    """Parameters numbered in the order in which they appear."""
    numbers: dict[str, str] = {}
    told = parse_one(text, read="postgres").sql("postgres")
    return re.sub(r"\$\d+", lambda found: numbers.setdefault(found[0], f"${len(numbers) + 1}"), told)
