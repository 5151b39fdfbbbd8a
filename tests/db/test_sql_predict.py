"""predict, decision_function and score_sql in SQL, compared with the driver on the same rows, to the last bit."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine, Text
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, query_rows
from sqlsvm.model.score import PREDICTION, SCORE
from sqlsvm.options import Nulls
from sqlsvm.store import open_store
from tests.ground import svm
from tests.ground.modelled import category, model_of, modelled, number
from tests.ground.models import HOSTILE, model
from tests.ground.opened import Wish, joined
from tests.ground.reference import naive
from tests.ground.schemas import random_world
from tests.psql import answer, complaint, psql
from tests.typed import asked, typed


@pytest.fixture
def dsn(installed_dsn: str) -> str:
    return installed_dsn


def scores(engine: Engine, text: str, *parameters: object) -> list[object]:
    found = engine.fetch(Text(text), parameters)
    return list(found[SCORE].tolist())


def by_driver(engine: Engine, model: Model, rows: str | None = None) -> tuple[list[Any], list[Any]]:
    """Scores and predictions as text, in the order of the scores."""
    outputs = exp.select(SCORE, exp.cast(exp.column(PREDICTION), "text").as_(PREDICTION))
    with naive(engine):
        found = engine.fetch(outputs.from_(predict(engine, model, rows).subquery("p")).order_by(SCORE))
    return found[SCORE].tolist(), found[PREDICTION].tolist()


def by_functions(engine: Engine, model: Model, rows: exp.Query) -> tuple[list[Any], list[Any]]:
    """The same, row by row as JSON."""
    text = f"""
        SELECT sqlsvm.decision_function($1, to_jsonb(q.*)) AS score, sqlsvm.predict($1, to_jsonb(q.*)) AS prediction
        FROM ({engine.text(rows)}) AS q ORDER BY score"""
    with naive(engine):
        found = engine.fetch(Text(text), [model.name])
    return found[SCORE].tolist(), found[PREDICTION].tolist()


def by_expression(engine: Engine, model: Model, rows: exp.Query) -> list[Any]:
    (expression,) = engine.fetch(Text("SELECT sqlsvm.score_sql($1) AS score"), [model.name])[SCORE]
    with naive(engine):
        return scores(engine, f"SELECT {expression} AS score FROM ({engine.text(rows)}) AS q ORDER BY score")


@pytest.mark.parametrize("seed", [0, 1, 3, 5, 8, 9])
def test_random_worlds(installed: Engine, seed: int) -> None:
    """With categories, booleans, NULLs and names that break careless SQL."""
    rng = np.random.default_rng(seed)
    world = random_world(rng, max_relations=3, continuous=True)
    assert world.label
    with world.created(installed) as live:
        text, label = live.query("postgres"), world.label.name
        rows = joined(installed, text, Wish(label=label))
        if not len(rows.row_ids[""]) or any(np.isnan(v).all() for v in rows.features.values() if v.dtype != object):
            return  # nothing could have been trained on that
        truth = svm.design_matrix(rows, "mean")
        made = model_of(installed, text, label, rows, truth, rng.normal(size=len(truth.columns)))
        open_store(installed).save(made)
        expected = by_driver(installed, made)
        assert by_functions(installed, made, query_rows(installed, made)) == expected
        assert by_expression(installed, made, query_rows(installed, made)) == expected[0]


# -- hostile texts -----------------------------------------------------------------------------------------------------

SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
LETTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from("'\"\\%$;-:{}() sS")
TEXTS = st.text(LETTERS, min_size=1, max_size=30)
NAMES = TEXTS.map(lambda text: text.encode()[:63].decode(errors="ignore")).filter(bool)
NUMBERS = st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-100)  # PostgreSQL refuses to underflow


@SETTINGS
@given(
    name=TEXTS | st.sampled_from(HOSTILE), features=st.lists(NAMES, min_size=3, max_size=3, unique=True), data=st.data()
)
def test_names_and_values_are_only_that(installed: Engine, name: str, features: list[str], data: st.DataObject) -> None:
    categories = data.draw(st.lists(TEXTS, min_size=2, max_size=3, unique=True))
    value, weights = data.draw(NUMBERS), data.draw(st.lists(NUMBERS, min_size=6, max_size=6))
    amount, kind, fresh = features
    made = modelled(
        [
            number(amount, weights[0], missing=weights[1]),
            *(category(kind, c, w) for c, w in zip(categories, weights[2:], strict=False)),
            number(fresh, weights[5]),
        ],
        weights[1],
        name=name,
        trained_on={"booleans": [fresh], "label_values": categories[:2]},
    )
    columns = [exp.column(n, quoted=True).sql("postgres") for n in features]
    values = f"SELECT $1::float8 AS {columns[0]}, $2::text AS {columns[1]}, true AS {columns[2]}"
    installed.execute(Text(f"CREATE TEMPORARY TABLE hostile AS {values}"), [value, categories[0]])
    try:
        open_store(installed).save(made)
        expected = by_driver(installed, made, "hostile")
        assert by_functions(installed, made, exp.select("*").from_("hostile")) == expected
        assert by_expression(installed, made, exp.select("*").from_("hostile")) == expected[0]
    finally:
        typed(installed, "DROP TABLE hostile")
        open_store(installed).drop(name)
    assert asked(installed, parse_one("SELECT COUNT(*) AS n FROM sqlsvm.versions WHERE name = $1"), [name])["n"][0] == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_in_psql(installed: Engine, dsn: str, name: str) -> None:
    open_store(installed).save(model(name))
    features = json.dumps({"distance": 1, "heavy": 0, "carrier": name, "month": 7})
    script = """
        SELECT sqlsvm.decision_function(:'name', :'features');
        SELECT count(*) FROM sqlsvm.models() WHERE model = :'name';
        SELECT sqlsvm.drop_model(:'name');
        SELECT count(*) FROM sqlsvm.models() WHERE model = :'name';"""
    assert answer(dsn, script, {"name": name, "features": features}) == ["-1.599", "1", "{1}", "0"]


# -- what values mean --------------------------------------------------------------------------------------------------

SHOP = [
    number("price", -1.0, 0.5),
    category("colour", "red", 3.0),
    number("fresh", 0.125, 0.5),
    category("size", 7, 2.0),
]
SHOP_FEATURES = {"price": 1, "colour": "red", "fresh": True, "size": 7}
FACTS = {"booleans": ["fresh"], "label_values": ["no", "yes"]}
MEANT = {
    '{"price": 1, "colour": "red", "fresh": true, "size": 7}': ("4.625", "yes"),
    '{"PRICE": "1.0", "Colour": "red", "fresh": "t", "size": "7.0"}': ("4.625", "yes"),
    '{"price": null, "colour": "blue", "fresh": null, "size": null}': ("0.0625", "yes"),
    '{"price": 1e1, "colour": null, "fresh": false, "size": 7.5, "more": [1]}': ("-9.5", "no"),
    '{"price": 0.5, "colour": "", "fresh": 0, "size": 6}': ("0", "no"),
}


def test_what_values_mean(installed: Engine, dsn: str) -> None:
    """A NULL is the mean, a category that is unknown or NULL weighs 0, and a score of 0 is negative."""
    open_store(installed).save(modelled(SHOP, 0.5, name="shop", nulls="mean", trained_on=FACTS))
    for features, said in MEANT.items():
        script = "SELECT sqlsvm.decision_function('shop', :'f'), sqlsvm.predict('shop', :'f');"
        assert answer(dsn, script, {"f": features}) == ["|".join(said)]


CATEGORIES = [
    *(category("c", c, w) for c, w in (("UA", 1.0), ("DAL", 2.0), ("a", 4.0), ("a ", 8.0))),
    *(category("n", c, w) for c, w in ((7.0, 16.0), (7.1, 32.0))),
    *(category("r", c, w) for c, w in ((0.10000000149011612, 64.0), (0.5, 128.0), (1e300, 256.0))),
    *(category("k", c, w) for c, w in ((2**53, 512.0), (2**53 + 1, 1024.0))),
    *(category("t", c, w) for c, w in (("Red", 2048.0), ("blue", 4096.0))),
]
SPELLED = {
    """{"c": "UA", "n": 7, "r": 0.1, "k": 9007199254740992, "t": "Red"}""": 1 + 16 + 64 + 512 + 2048,
    """{"c": "UA ", "n": 7.00, "r": 0.10000000149011612, "k": 9007199254740993, "t": "RED"}""": 1 + 16 + 64 + 3072,
    """{"c": "DAL", "n": "7.10", "r": 0.50, "k": "9007199254740993", "t": "BLUE"}""": 2 + 32 + 128 + 1024 + 4096,
    """{"c": "a", "n": 7.2, "r": 1e300, "k": 9007199254740994, "t": "Blue "}""": 4 + 256,
    """{"c": "a ", "n": null, "r": 0.2, "k": 7, "t": null}""": 8,
}


def test_a_category_however_it_is_spelled(installed: Engine, dsn: str) -> None:
    """JSON has the blanks of a character(n), the scale of a numeric, the shortest digits of a real. Blanks that tell
    categories apart do so here too, and case counts, except in citext."""
    open_store(installed).save(modelled(CATEGORIES, name="spelled", trained_on={"caseless": ["t"]}))
    for features, said in SPELLED.items():
        script = "SELECT sqlsvm.decision_function('spelled', :'f');"
        assert answer(dsn, script, {"f": features}) == [str(said)], features


def test_where_a_model_says_how_its_categories_are_spelled(installed: Engine, dsn: str) -> None:
    """One that an older sqlsvm has stored does not."""
    values = """ARRAY['{"t": "Red"}', '{"t": "red"}', '{"t": "Red "}']::jsonb[]"""
    script = f"SELECT sqlsvm.decision_function('said', f) FROM unnest({values}) AS f;"
    said: dict[str, dict[str, list[str]]] = {
        "101": {},
        "100": {"padded": ["c"]},
        "110": {"padded": [], "caseless": ["t"]},
    }
    for scores, facts in said.items():
        open_store(installed).save(modelled([category("t", "Red", 1.0)], name="said", trained_on=facts))
        assert answer(dsn, script) == list(scores)


def test_nan_is_no_score(installed: Engine, dsn: str) -> None:
    """PostgreSQL says that it is above 0; so is infinity."""
    facts = {"label_values": ["no", "yes"]}
    open_store(installed).save(modelled([number("x", 1.0)], 0.5, name="nan", trained_on=facts))
    script = """SELECT x, sqlsvm.decision_function('nan', f), coalesce(sqlsvm.predict('nan', f), 'none')
        FROM unnest(ARRAY['NaN', 'Infinity', '-Infinity', '0']) AS x, jsonb_build_object('x', x) AS f;"""
    expected = ["NaN|NaN|none", "Infinity|Infinity|yes", "-Infinity|-Infinity|no", "0|0.5|yes"]
    assert answer(dsn, script) == expected


@pytest.mark.parametrize("left", SHOP_FEATURES)
@pytest.mark.parametrize("nulls", ["mean", "error", "drop"])
def test_a_feature_that_is_left_out(installed: Engine, dsn: str, nulls: Nulls, left: str) -> None:
    """It is NULL where the model has an answer to that, unless another key is no feature: that may be a misspelling."""
    weights = SHOP if nulls == "mean" else [replace(weight, missing=None) for weight in SHOP]
    open_store(installed).save(modelled(weights, 0.5, name="lax", nulls=nulls, trained_on=FACTS))
    given = {name: value for name, value in SHOP_FEATURES.items() if name != left}
    score = "SELECT sqlsvm.decision_function('lax', :'f');"
    if nulls == "mean" or (nulls == "error" and left in ("colour", "size")):
        null = answer(dsn, score, {"f": json.dumps(given | {left: None})})
        assert answer(dsn, score, {"f": json.dumps(given)}) == null != [""]
        given |= {f"{left}s": 1}
    said = complaint(dsn, score, {"f": json.dumps(given)})
    assert said["MESSAGE"] == f'the features have no "{left}", which the model needs'


@pytest.mark.parametrize("missing", ["price", "colour"])
def test_no_score_without_a_value(installed: Engine, dsn: str, missing: str) -> None:
    """Rows with a NULL were dropped in training, so there is nothing to say of one."""
    weights = [replace(weight, missing=None) for weight in SHOP]
    open_store(installed).save(modelled(weights, 0.5, name="strict", nulls="drop", trained_on=FACTS))
    features = {"price": 1, "colour": "red", "fresh": True, "size": 7, missing: None}
    script = "SELECT sqlsvm.decision_function('strict', :'f') IS NULL, sqlsvm.predict('strict', :'f') IS NULL;"
    assert answer(dsn, script, {"f": json.dumps(features)}) == ["t|t"]


@pytest.mark.parametrize(
    ("labels", "said"),
    [([False, True], "true"), ([1, 2], "2"), ([1.5, 2.0], "2"), (["", "it's"], "it's"), ([-1, None], ""), (None, "1")],
)
def test_a_prediction_is_the_label(installed: Engine, dsn: str, labels: list[object] | None, said: str) -> None:
    facts = {} if labels is None else {"label_values": labels}
    open_store(installed).save(modelled([], 1.0, name="label", trained_on=facts))
    assert answer(dsn, "SELECT sqlsvm.predict('label', '{}');") == [said]


def test_versions_stand_side_by_side(installed: Engine, dsn: str) -> None:
    store = open_store(installed)
    for intercept in (1.0, -2.0):
        store.save(modelled([], intercept, name="two"))
    script = """
        SELECT sqlsvm.decision_function('two', '{}'), sqlsvm.decision_function('two', '{}', version => 1);
        SELECT sqlsvm.predict('two', '{}'), sqlsvm.predict('two', '{}', version => 1);
        SELECT sqlsvm.score_sql('two'), sqlsvm.score_sql('two', version => 1);
        SELECT version FROM sqlsvm.models() WHERE model = 'two';
        SELECT sqlsvm.drop_model('two', version => 2);
        SELECT weight FROM sqlsvm.weights('two');"""
    expressions = "CAST ( - 2.0e0 AS DOUBLE PRECISION )|CAST ( 1.0e0 AS DOUBLE PRECISION )"
    assert answer(dsn, script) == ["-2|1", "-1|1", expressions, "2", "1", "{2}", "1"]


# -- many rows ---------------------------------------------------------------------------------------------------------


def test_a_view_of_scores_and_predictions(installed: Engine, dsn: str) -> None:
    open_store(installed).save(modelled(SHOP, 0.5, name="seen", nulls="mean", trained_on=FACTS))
    open_store(installed).save(
        modelled(SHOP, 0.5, name="summed", nulls="mean", trained_on={**FACTS, "label_values": [None, None]})
    )
    script = """
        CREATE TEMPORARY TABLE wares AS
        SELECT n % 10 AS price, (ARRAY['red', 'blue', NULL])[n % 3 + 1] AS colour, n % 2 = 0 AS fresh, n % 9 AS size
        FROM generate_series(1, 100) AS n;
        SELECT sqlsvm.score_view('seen', 'wares', 'seen wares');
        SELECT count(*), count(score), sum((prediction = sqlsvm.predict('seen', to_jsonb(s)))::integer),
            sum((score = sqlsvm.decision_function('seen', to_jsonb(s)))::integer) FROM "seen wares" AS s;
        SELECT sqlsvm.score_view('summed', 'wares', 'public.summed');
        SELECT count(*) FROM public.summed WHERE prediction = score;
        EXPLAIN (VERBOSE, COSTS off) SELECT * FROM public.summed;"""
    script = script.replace("'seen wares'", """'"seen wares"'""").replace("TEMPORARY TABLE wares", "TABLE wares")
    first, counts, second, summed, *plan = answer(dsn, script)
    assert (first, counts, second, summed) == ('"seen wares"', "100|100|100|100", "public.summed", "100")
    assert plan[0] == "Seq Scan on public.wares r"
    assert [line for line in plan if "sqlsvm" in line or "->" in line] == []


def test_an_error_of_one_row_is_short(installed: Engine, dsn: str) -> None:
    """PostgreSQL adds where it was raised, and with that the text of a query that it was raised in."""
    open_store(installed).save(modelled([number("x", 1.0)], 0.5, name="short"))
    said = psql(dsn, "SELECT sqlsvm.predict('short', '{\"y\": 1}')", {})
    assert 'the features have no "x", which the model needs' in said.err
    assert "jsonb_array_elements" not in said.err


def test_a_view_of_rows_that_lack_a_column(installed: Engine, dsn: str) -> None:
    """The message of PostgreSQL would have the whole score."""
    open_store(installed).save(modelled(SHOP, 0.5, name="lacking", nulls="mean", trained_on=FACTS))
    found = complaint(dsn, "SELECT sqlsvm.score_view('lacking', 'pg_class', 'v')")
    assert found["SQLSTATE"] == "SV003"
    assert found["MESSAGE"].endswith('does not exist, which model "lacking" reads in pg_class')
    rows = "SELECT 1 AS price, 'red' AS colour, true AS fresh, 2 AS size"
    for view in "public.no name", "a.b.c", "nowhere.v", "public.whole":
        made = f"CREATE TABLE IF NOT EXISTS public.whole AS {rows}"
        found = complaint(dsn, f"{made}; SELECT sqlsvm.score_view('lacking', 'public.whole', '{view}')")
        assert (found["SQLSTATE"], found["HINT"].partition(",")[0]) == ("SV003", NEW_NAME), view
    made = "CREATE TEMPORARY VIEW r AS SELECT *, 3 AS score FROM public.whole"
    found = complaint(dsn, f"{made}; SELECT sqlsvm.score_view('lacking', 'pg_temp.r', 'v')")
    assert "none called score" in found["HINT"]


NEW_NAME = "Give the view a new name in a schema that you may use"


def test_a_view_scores_in_one_scan(installed: Engine, dsn: str) -> None:
    """Nothing is called per row: what is planned is the scan of the table, with arithmetic on it."""
    open_store(installed).save(modelled(SHOP, 0.5, name="viewed", nulls="mean", trained_on=FACTS))
    script = r"""
        CREATE TABLE goods AS
        SELECT n % 10 AS price, (ARRAY['red', 'blue', NULL])[n % 3 + 1] AS colour, n % 2 = 0 AS fresh, n % 9 AS size
        FROM generate_series(1, 1000) AS n;
        SELECT format('CREATE VIEW scored AS SELECT g.*, %s AS score FROM goods AS g',
                      sqlsvm.score_sql('viewed')) \gexec
        SELECT count(*) FROM scored AS s WHERE score = sqlsvm.decision_function('viewed', to_jsonb(s));
        EXPLAIN (VERBOSE, COSTS off) SELECT * FROM scored;"""
    counts, *plan = answer(dsn, script)
    assert counts == "1000"
    assert plan[0] == "Seq Scan on public.goods g"
    assert [line for line in plan if "sqlsvm" in line] == []
    assert len([line for line in plan if "->" in line]) == 0


def test_the_expression_finds_every_model_again(installed: Engine, dsn: str) -> None:
    """17 digits are a double: no setting of the session rounds what is written down."""
    third = 1 / 3
    open_store(installed).save(modelled([number("x", third)], 1e-300, name="digits"))
    script = "SET extra_float_digits = 0; SELECT sqlsvm.score_sql('digits');"
    (expression,) = answer(dsn, script)
    found = asked(installed, f"SELECT {expression} AS score FROM (SELECT 1 AS x) AS t")
    assert found[SCORE].tolist() == [third]


# -- what is listed ----------------------------------------------------------------------------------------------------


def test_weights_and_passes(installed: Engine, dsn: str) -> None:
    open_store(installed).save(model("listed"))
    script = """
        SELECT * FROM sqlsvm.weights('listed');
        SELECT pass, lower_bound, gap, buckets FROM sqlsvm.training_info('listed');
        SELECT model, version, label, lambda, join_rows, gap, converged FROM sqlsvm.models() WHERE model = 'listed';"""
    assert answer(dsn, script) == [
        "||-0.1|",
        "month|7|-1.5|-1.5",
        "distance||0.001|0.7",
        "carrier|Ünïted 'n' \"Co\"|0.3333333333333333|0.3333333333333333",
        "heavy||0.25|0.25",
        "carrier|UA|-0.2|-0.2",
        "carrier|NaN|0.05|0.05",
        "1|-Infinity|Infinity|",
        "2|0.409016|0.0024|16",
        "listed|1|late|0.0001|1500000000000|0.0024|t",
    ]


# -- what is stored is data --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["{intercept}", "{weights,0,weight}", "{weights,0,missing}", "{weights,1,weight}"])
def test_a_stored_text_is_never_executed(installed: Engine, dsn: str, place: str) -> None:
    """A trainer writes the table, and readers score with it."""
    open_store(installed).save(modelled([number("x", 1.0, 0.5), category("c", "a", 2.0)], 0.5, name="planted"))
    planted = json.dumps("1' AS double precision) + set_config('application_name', 'planted', false)::float8 + ('1")
    change = "UPDATE sqlsvm.versions SET body = jsonb_set(body::jsonb, :'place', :'planted') WHERE name = 'planted';"
    for call in ("score_sql('planted')", "weights('planted')"):  # these read it once, and check it before
        found = complaint(dsn, f"{change} SELECT sqlsvm.{call};", {"place": place, "planted": planted})
        assert found["SQLSTATE"] == "SV008"
        assert "expected a finite number" in found["MESSAGE"]


CALLS = (
    *(
        "pg_sleep(1)",
        '"pg_sleep"(1)',
        '"pg_sleep" (1)',
        "LOWER5(1)",
        "EVIL(1)",
        "1 + evil(1)",
        "pg_catalog.pg_sleep(1)",
    ),
    *(
        '"t"."f"',
        "sqlsvm_steps.f",
        '("t").f',
        "\"evil\" 'x'",
        "TRUE 'x'",
        "CAST(1 AS evil)",
        'CAST(1 AS "evil")',
        "1::evil",
    ),
    *(
        "1 -- x",
        "1 /* x */",
        "1; SELECT 1",
        "1 UNION SELECT 1",
        "1 OPERATOR(pg_catalog.+) 1",
        "1 || 1",
        "$1",
        "a",
        "1, 2",
        "1 +",
        "1 * / 2",
    ),
    *("E'a'", "U&'a'", "$$a$$", "'a", '"a', "1)", "(1", ") + (", "1) FROM (SELECT 1"),
    *(
        '(SELECT 1 FROM "t")',
        '(SELECT 1 FROM ("t"))',
        '(SELECT EPOCH FROM "t")',
        '(SELECT 1 FROM (SELECT 1 AS s0), "t")',
    ),
    '(SELECT 1 FROM (SELECT 1 AS s0) "u", "t")',
    '(SELECT 1 FROM (SELECT 1 AS s0 OFFSET 0) AS sqlsvm_steps, "t")',
    '(SELECT 1 FROM (SELECT 1 AS s0 OFFSET 0) AS sqlsvm_steps "t")',
    "(SELECT 1 OFFSET 0) AS sqlsvm_steps",
)


@pytest.mark.parametrize("stored", CALLS)
def test_a_stored_score_is_arithmetic_alone(installed: Engine, dsn: str, stored: str) -> None:
    open_store(installed).save(modelled([number("x", 1.0)], 0.5, name="planted"))
    change = "UPDATE sqlsvm.versions SET score = :'score' WHERE name = 'planted';"
    given = {"score": json.dumps({"scores": [stored], "chances": ["1"]})}
    wanted = "predict('planted', f)", "decision_function('planted', f)", "predict_proba('planted', f)"
    for call in (*wanted, "score_sql('planted')", "score_view('planted', 'pg_class', 'v')"):
        found = complaint(
            dsn, f"""BEGIN; {change} SELECT sqlsvm.{call} FROM (SELECT '{{"x": 1}}'::jsonb) AS t (f);""", given
        )
        assert (found["SQLSTATE"], found["MESSAGE"]) == (
            "SV008",
            'model "planted", version 1: there is no score in SQL',
        )


def test_operators_of_a_reader_are_not_used(installed: Engine, dsn: str) -> None:
    open_store(installed).save(modelled([number("x", 2.0)], 0.5, name="pinned"))
    script = """
        CREATE SCHEMA evil;
        CREATE FUNCTION evil.bad(float8, float8) RETURNS float8 LANGUAGE sql AS 'SELECT 666::float8';
        CREATE OPERATOR evil.+ (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.bad);
        SET search_path = evil, pg_catalog;
        SELECT 1::float8 + 1::float8, sqlsvm.decision_function('pinned', '{"x": 1}');"""
    assert answer(dsn, script) == ["666|2.5"]
