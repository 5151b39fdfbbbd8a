"""Every error of the functions on models, one by one through psql: SQLSTATE, message, and a hint that can be typed."""

import json
from collections.abc import Iterator

import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.model.model import FORMAT
from sqlsvm.psql.install import install
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.store import open_store
from sqlsvm.store.templates import template
from tests.ground.modelled import category, modelled, number
from tests.ground.trained import training
from tests.psql import answer, complaint, psql
from tests.typed import typed


@pytest.fixture(scope="module")
def dsn(installed: Engine, installed_dsn: str) -> Iterator[str]:
    """With the model late_flights, on a number, a boolean, text and integers. A worker may come back to this file."""
    weights = [number("distance", 1.0), number("heavy", 1.0), category("carrier", "UA", 1.0), category("month", 7, 1.0)]
    store = open_store(installed)
    store.save(modelled(weights, name="late_flights", trained_on={"booleans": ["heavy"]}))
    yield installed_dsn
    store.drop("late_flights")


LISTS = "SELECT model FROM sqlsvm.models(); lists all."
MEANT = f"Did you mean late_flights? {LISTS}"
UNKNOWN = {
    "predict('late_flihgts', '{}')": ('there is no model "late_flihgts"', MEANT),
    "decision_function('xyz', '{}')": ('there is no model "xyz"', LISTS),
    "score_sql(NULL)": ("there is no model NULL", LISTS),
    "weights('')": ('there is no model ""', LISTS),
    "training_info('Late_Flights')": ('there is no model "Late_Flights"', MEANT),
    "drop_model('late flights')": ('there is no model "late flights"', MEANT),
    "weights('late_flights', version => 7)": ('model "late_flights" has no version 7', "It has 1."),
    "drop_model('late_flights', version => 0)": ('model "late_flights" has no version 0', "It has 1."),
}


@pytest.mark.parametrize("call", UNKNOWN)
def test_unknown_models(dsn: str, call: str) -> None:
    message, hint = UNKNOWN[call]
    expected = {"SQLSTATE": "SV001", "MESSAGE": message, "HINT": hint}
    assert complaint(dsn, f"SELECT sqlsvm.{call};") == expected


def test_where_no_model_is_stored_yet(postgres: Engine, postgres_dsn: str) -> None:
    install(postgres)
    found = complaint(postgres_dsn, "SELECT sqlsvm.predict('late_flights', '{}');")
    assert (found["SQLSTATE"], found["HINT"]) == ("SV001", "No model is stored here yet: sqlsvm train stores one.")


def test_what_is_compiled_and_not_trained_yet(postgres: Engine, postgres_dsn: str) -> None:
    """The hint is typed, and then there is a model."""
    install(postgres)
    typed(postgres, "CREATE TABLE t AS SELECT n % 2 AS y, n AS x FROM generate_series(1, 9) AS n")
    save_program(postgres, "it's late", stored_program(postgres, "SELECT y, x FROM t", training()))
    call = "SELECT sqlsvm.predict('it''s late', '{\"x\": 1}') IS NULL;"
    found = complaint(postgres_dsn, call)
    assert (found["SQLSTATE"], found["MESSAGE"]) == ("SV001", 'there is no model "it\'s late"')
    hinted = found["HINT"].removeprefix("It is compiled and not trained yet: ")
    said = psql(postgres_dsn, f"{hinted}{call}SELECT sqlsvm.drop_model('it''s late'); {hinted}")
    assert said.lines[1:] == ["f", "{1}"]
    assert "ERROR:  SV002: " in said.err


GOOD = {"distance": 1, "heavy": True, "carrier": "UA", "month": 7}
NONE_SUCH = 'the features have no "{}", which the model needs'
NO_OBJECT = "the features are not a JSON object but of type {}"
WRITE_ONE = 'Write {"distance": 1}, or to_jsonb(t) for a row of a table t.'
WRONG = {
    '{"distanse": 1, "heavy": true, "carrier": "UA", "month": 7}': (
        NONE_SUCH.format("distance"),
        'Is it "distanse"? A value that is not known is written {"distance": null}.',
    ),
    '{"distance": 1, "heavy": true, "carier": "UA", "month": 7}': (
        NONE_SUCH.format("carrier"),
        'Is it "carier"? A value that is not known is written {"carrier": null}.',
    ),
    "{}": (NONE_SUCH.format("distance"), 'A value that is not known is written {"distance": null}.'),
    "[1]": (NO_OBJECT.format("array"), WRITE_ONE),
    "7": (NO_OBJECT.format("number"), WRITE_ONE),
    "null": (NO_OBJECT.format("null"), WRITE_ONE),
    json.dumps(GOOD | {"distance": [1]}): (
        'feature "distance" is of type array',
        "A feature is a number, a text, true, false or null.",
    ),
    json.dumps(GOOD | {"distance": "far"}): (
        'feature "distance" has the value "far", which is no number',
        'Write {"distance": 1.5}.',
    ),
    json.dumps(GOOD | {"heavy": "maybe"}): (
        'feature "heavy" has the value "maybe", which is no boolean',
        'Write {"heavy": true}.',
    ),
    json.dumps(GOOD | {"month": "July"}): (
        'feature "month" has the value "July", which is no number',
        'Write {"month": 1.5}.',
    ),
}


@pytest.mark.parametrize("features", WRONG)
def test_features_that_cannot_be_scored(dsn: str, features: str) -> None:
    message, hint = WRONG[features]
    expected = {"SQLSTATE": "SV003", "MESSAGE": message, "HINT": hint}
    for function in ("predict", "decision_function"):
        assert complaint(dsn, f"SELECT sqlsvm.{function}('late_flights', :'f');", {"f": features}) == expected


def test_the_right_ones_go_through(dsn: str) -> None:
    script = """
        SELECT sqlsvm.decision_function('late_flights', :'f');
        SELECT sqlsvm.predict('late_flights', NULL) IS NULL;"""
    assert answer(dsn, script, {"f": json.dumps(GOOD)}) == ["4", "t"]


@pytest.mark.parametrize("call", ["predict('late_flights', '{}')", "models()", "drop_model('late_flights')"])
def test_tables_of_a_later_sqlsvm(dsn: str, call: str) -> None:
    found = complaint(dsn, f"BEGIN; INSERT INTO sqlsvm.schema_version (version) VALUES (99); SELECT sqlsvm.{call};")
    assert found["SQLSTATE"] == "SV005"
    assert found["MESSAGE"] == "the models are kept in form 99, which these functions do not know"
    assert found["HINT"] == "With a newer sqlsvm type: sqlsvm upgrade --dsn URL"


EDITED = "Restore it, or train it again, or delete it: SELECT sqlsvm.drop_model('late_flights', 1);"
NEWER = "With a newer sqlsvm type: sqlsvm upgrade --dsn URL"
DAMAGES = {
    "''": ("SV008", "not a JSON object", EDITED),
    "left(body, 300)": ("SV008", "not a JSON object", EDITED),
    "'[1]'": ("SV008", "not a JSON object", EDITED),
    "'{}'": ("SV008", "intercept: expected a finite number, found nothing", EDITED),
    "jsonb_set(body::jsonb, '{format}', '99')": (
        "SV005",
        f"made by a newer sqlsvm (format 99; these functions read up to {FORMAT})",
        NEWER,
    ),
    f'\'{{"format": {FORMAT + 1}, "version": 1}}\'': (
        "SV005",
        f"made by a newer sqlsvm (format {FORMAT + 1}; these functions read up to {FORMAT})",
        NEWER,
    ),
    "jsonb_set(body::jsonb, '{version}', '3')": ("SV008", "version: found 3", EDITED),
    "jsonb_set(body::jsonb, '{nulls}', 'null')": ("SV008", "nulls: expected text, found null", EDITED),
    "jsonb_set(body::jsonb, '{weights}', '{}')": ("SV008", "weights: expected a list, found {}", EDITED),
    "jsonb_set(body::jsonb, '{weights,0}', '5')": ("SV008", "weights[0].feature: expected text, found nothing", EDITED),
    "jsonb_set(body::jsonb, '{weights,2,weight}', '\"NaN\"')": (
        "SV008",
        'weights[2].weight: expected a finite number, found "NaN"',
        EDITED,
    ),
    "body::jsonb #- '{weights,1,weight}'": (
        "SV008",
        "weights[1].weight: expected a finite number, found nothing",
        EDITED,
    ),
    "jsonb_set(body::jsonb, '{trained_on,label_values}', '[1]')": (
        "SV008",
        "trained_on.label_values: expected a list of 2, found [1]",
        EDITED,
    ),
}


@pytest.mark.parametrize("switch", ["enable_nestloop", "enable_hashjoin", "enable_mergejoin"])
def test_an_unknown_model_without_passes(dsn: str, switch: str) -> None:
    """Whatever the plan is: one that reads the passes first finds none."""
    found = complaint(dsn, f"ANALYZE sqlsvm.iterations; SET {switch} = off; SELECT sqlsvm.training_info('xyz');")
    assert found["MESSAGE"] == 'there is no model "xyz"'


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_says_which_field(dsn: str, damage: str) -> None:
    sqlstate, wrong, hint = DAMAGES[damage]
    for call in (
        f"predict('late_flights', '{json.dumps(GOOD)}')",
        "score_sql('late_flights')",
        "weights('late_flights')",
        "training_info('late_flights')",
    ):
        found = complaint(dsn, f"BEGIN; UPDATE sqlsvm.versions SET body = {damage}; SELECT * FROM sqlsvm.{call};")
        assert found == {"SQLSTATE": sqlstate, "MESSAGE": f'model "late_flights", version 1: {wrong}', "HINT": hint}


@pytest.mark.parametrize(
    ("field", "value", "wrong"),
    [
        ("{weights,1,scaled_weight}", '"Infinity"', 'scaled_weight: expected a finite number, found "Infinity"'),
        ("{weights,1,weight}", "1e999", f"weight: expected a finite number, found 1{'0' * 59}"),
        ("{weights,1,missing}", "[]", "missing: expected a finite number or null, found []"),
        ("{weights,1,category}", "[]", "category: expected a value, found []"),
    ],
)
def test_what_reads_a_model_once_asks_for_more(dsn: str, field: str, value: str, wrong: str) -> None:
    change = f"BEGIN; UPDATE sqlsvm.versions SET body = jsonb_set(body::jsonb, '{field}', '{value}');"
    for call in ("score_sql('late_flights')", "weights('late_flights')", "_newest_weights('late_flights')"):
        found = complaint(dsn, f"{change} SELECT sqlsvm.{call};")
        assert found["MESSAGE"] == f'model "late_flights", version 1: weights[1].{wrong}'


def test_a_damaged_model_is_still_listed_and_dropped(dsn: str) -> None:
    listed = "FROM sqlsvm.models() WHERE model = 'late_flights';"
    script = f"""BEGIN; UPDATE sqlsvm.versions SET body = '{{'; SELECT model, version {listed}
        SELECT sqlsvm.drop_model('late_flights', 1); SELECT count(*) {listed}"""
    assert answer(dsn, script) == ["late_flights|1", "{1}", "0"]


def test_json_that_is_broken_inside_says_where(dsn: str) -> None:
    """PostgreSQL itself says it: its error cannot be caught where parallel workers score rows."""
    said = psql(
        dsn, "BEGIN; UPDATE sqlsvm.versions SET body = '{\"model\": }'; SELECT sqlsvm.score_sql('late_flights');"
    )
    assert "ERROR:  22P02: invalid input syntax for type json" in said.err
    assert "CONTEXT:  JSON data, line 1: {" in said.err
    assert "_body" in said.err


def test_the_functions_know_the_newest_format() -> None:
    assert f"$.format > {FORMAT}'" in template("internal/_check_body")
    assert f"'format', {FORMAT}," in template("internal/_keep")
