"""What training from psql does to others: to the data, to other sessions, and to the database after it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from sqlglot import parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.model.predict import predict
from sqlsvm.psql.install import install
from sqlsvm.psql.stored_program import StoredProgram, save_program, stored_program
from sqlsvm.run.train import train
from sqlsvm.store import open_store
from tests.ground.joins import chain
from tests.ground.opened import build, truth
from tests.ground.sql_program import call, compiled, trained
from tests.ground.trained import assert_proven, training, wish_of
from tests.psql import answer, complaint, program, psql
from tests.typed import asked, typed
from tests.waiting import eventually

WORKING = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sqlsvm%' AND relnamespace = pg_my_temp_schema();"
QUIET = "SET client_min_messages = warning;"
NAMES = ("first", "second")


@pytest.fixture(scope="module")
def made(installed: Engine) -> Iterator[StoredProgram]:
    """A program over a chain of three tables, which are there as long as the tests of this file."""
    join = chain(np.random.default_rng(3), rows=300)
    with join.created(installed):
        yield stored_program(installed, join.query, training())


@pytest.fixture
def dsn(installed: Engine, installed_dsn: str, made: StoredProgram) -> Iterator[str]:
    """Two programs that have trained nothing yet."""
    for name in NAMES:
        save_program(installed, name, made)
    yield installed_dsn
    for name in NAMES:
        answer(installed_dsn, f"{QUIET} SELECT sqlsvm.drop_model(:'name');", {"name": name})


@contextmanager
def running(dsn: str, *statements: str) -> Iterator[subprocess.Popen[str]]:
    """psql in the middle of a script: its notices can be read from stderr as they come."""
    command = [program(), "-X", "-q", "-v", "ON_ERROR_STOP=1", *(w for s in statements for w in ("-c", s)), dsn]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as session:
        yield session
        session.kill()


def first_pass(session: subprocess.Popen[str]) -> None:
    assert session.stderr
    assert any("pass 1 " in line for line in session.stderr)


def test_a_program_has_the_zone_and_the_threshold_of_its_driver(postgres: Engine, postgres_dsn: str) -> None:
    """The hour of an instant depends on the zone. The session has its own again after each call."""
    install(postgres)
    at = "TIMESTAMPTZ '2024-01-01 00:00:00+00' + n * INTERVAL '1 hour'"
    typed(postgres, f"CREATE TABLE g AS SELECT {at} AS at, n % 24 AS h FROM GENERATE_SERIES(0, 239) AS r(n)")
    postgres.in_zone("Asia/Tokyo")
    text = "SELECT h < 12 AS y, CAST(EXTRACT(HOUR FROM at) AS float8) AS hour FROM g"
    save_program(postgres, "zoned", stored_program(postgres, text, replace(training(lam=1e-3), cut=0.25, spread=2.0)))
    script = """
        SET TimeZone = 'America/New_York';
        SELECT converged FROM sqlsvm.train('zoned');
        SELECT value FROM sqlsvm.evaluate('zoned') WHERE measure = 'accuracy';
        SELECT sum(count) FROM sqlsvm.row_count('zoned') WHERE feature = 'hour' AND value = '8';
        SHOW TimeZone;"""
    (converged, accuracy, *counted), model = answer(postgres_dsn, QUIET + script), open_store(postgres).load("zoned")
    assert (converged, counted[-1]) == ("t", "America/New_York")
    weight = float(model.weights.values[0])
    mean = model.intercept + weight * 11.5  # of the hours
    assert model.trained_on.zone == "Asia/Tokyo"
    assert model.threshold == pytest.approx(mean + 0.5)
    found = asked(postgres, f"SELECT p.prediction = p.y AS right FROM ({postgres.text(predict(postgres, model))}) AS p")
    assert float(accuracy) == pytest.approx(found["right"].mean())
    score = "sqlsvm.decision_function('zoned', jsonb_build_object('hour', hour))"
    by_hour = asked(postgres, f"SELECT DISTINCT hour, {score} AS score FROM ({text}) AS q ORDER BY hour")
    assert by_hour["score"] == pytest.approx(model.intercept - model.threshold + weight * by_hour["hour"])


def test_a_program_has_no_other_setting_of_its_driver(postgres: Engine, postgres_dsn: str) -> None:
    """Nobody sees them: explain shows statements. One that there is not would be an error."""
    install(postgres)
    join = chain(np.random.default_rng(3), rows=300)
    with join.created(postgres):
        compiled(postgres, "first", join.query, training())
        more = """'{"sqlsvm.no_such": "1", "session_replication_role": "replica"}'"""
        changed = f"jsonb_set(description, '{{settings}}', description -> 'settings' || {more})"
        typed(postgres, f"UPDATE sqlsvm.programs SET description = {changed}")
        assert answer(postgres_dsn, f"{QUIET} SELECT converged FROM sqlsvm.train('first');") == ["t"]


TO_THE_LIMIT = "tol => 1e-12, max_passes => 6"


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["READ COMMITTED", pytest.param("REPEATABLE READ", marks=pytest.mark.slow)])
def test_data_that_changes_meanwhile(postgres: Engine, postgres_dsn: str, isolation: str) -> None:
    """The model is that of the data when it began, to the last bits."""
    install(postgres)
    dsn, join = postgres_dsn, chain(np.random.default_rng(3), rows=300)
    join.create(postgres)
    compiled(postgres, "first", join.query, training())
    answer(dsn, f"{QUIET} SELECT version FROM sqlsvm.train('first', {TO_THE_LIMIT});")
    undisturbed = open_store(postgres).load("first")
    answer(dsn, f"{QUIET} SELECT sqlsvm.drop_model('first', 1);")  # the next training would start from it
    begin, train = f"BEGIN ISOLATION LEVEL {isolation}", f"SELECT sqlsvm.train('first', {TO_THE_LIMIT})"
    with running(dsn, begin, train, "COMMIT") as session:
        first_pass(session)
        build(postgres, "DELETE FROM m WHERE u > 0; UPDATE l SET a = -a, b = 7; INSERT INTO r SELECT j, c + 1 FROM r")
        _, said = session.communicate()
        assert (session.returncode, "ERROR" in said) == (0, False)
    model = open_store(postgres).load("first")
    assert (model.passes, model.join_rows) == (6, undisturbed.join_rows)
    assert [w.weight for w in model.weights] == pytest.approx([w.weight for w in undisturbed.weights], rel=1e-9)
    assert model.objective == pytest.approx(undisturbed.objective, rel=1e-12)
    assert trained(postgres, dsn, "first").join_rows != undisturbed.join_rows


@pytest.mark.slow
def test_nothing_is_left_behind(dsn: str) -> None:
    """After success, after an error in the middle, after ROLLBACK: no working table, and no model but the one kept."""
    count = "SELECT count(*) FROM sqlsvm.versions WHERE name = 'first';"
    assert answer(dsn, f"{QUIET} SELECT version FROM sqlsvm.train('first'); {WORKING}") == ["1", "0"]
    slow = "SET statement_timeout = '1500ms';\nSELECT sqlsvm.train('first', tol => 1e-12, max_passes => 10000);"
    script = f"{QUIET}\n\\set ON_ERROR_STOP 0\n{slow}\nRESET statement_timeout;\n{WORKING}\n{count}"
    said = psql(dsn, script)
    assert "canceling statement due to statement timeout" in said.err
    assert said.lines == ["0", "1"]
    rolled_back = f"{QUIET} BEGIN; SELECT version FROM sqlsvm.train('first'); ROLLBACK; {WORKING} {count}"
    assert answer(dsn, rolled_back) == ["2", "0", "1"]
    for function in ("objective", "row_count", "generalized_row_count", "pseudo_gradient", "evaluate"):
        found = answer(dsn, f"{QUIET} SELECT count(*) > 0 FROM sqlsvm.{function}('first'); {WORKING}")
        assert found == ["t", "0"]


def test_a_backend_that_is_terminated(dsn: str) -> None:
    with running(dsn, "SELECT sqlsvm.train('first', tol => 1e-12, max_passes => 10000)") as session:
        first_pass(session)
        stop = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT sqlsvm.train%'"
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute(stop)
            session.communicate()
            assert session.returncode != 0
            left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sqlsvm\\_%' AND relpersistence = 't'"
            eventually(lambda: other.execute(left).fetchone() == (0,))  # it tidies up after its client was told
    assert answer(dsn, "SELECT count(*) FROM sqlsvm.versions WHERE name = 'first';") == ["0"]


def test_trainings_of_one_model_take_turns(dsn: str) -> None:
    with psycopg.connect(dsn) as holding:
        holding.execute("SELECT sqlsvm.train('first')")
        blocked = complaint(dsn, f"{QUIET} SET lock_timeout = '200ms'; SELECT sqlsvm.train('first');")
        assert blocked["SQLSTATE"] == "55P03"
        assert answer(dsn, f"{QUIET} SELECT version FROM sqlsvm.train('second');") == ["1"]
    assert answer(dsn, f"{QUIET} SELECT version FROM sqlsvm.train('first');") == ["2"]


def test_two_programs_in_one_transaction(dsn: str) -> None:
    train = "SELECT version, converged FROM sqlsvm.train('{}');"
    script = f"{QUIET} BEGIN; {train.format('first')} {train.format('second')} {train.format('first')} COMMIT;"
    assert answer(dsn, script) == ["1|t", "1|t", "2|t"]


def test_names(installed: Engine, installed_dsn: str, made: StoredProgram) -> None:
    for name in ('\'; DROP TABLE m; -- "Quoted" Ünïcode 模型', "$$%I%s a\\nb " + "x" * 48):
        save_program(installed, name, made)
        assert trained(installed, installed_dsn, name, tol=0.5).version == 1


def test_another_search_path(dsn: str) -> None:
    """The names of the query mean what they meant when it was compiled."""
    setting = f"{QUIET} CREATE SCHEMA other; CREATE TABLE other.m (k INT); SET search_path = other;"
    trained = "SELECT version FROM sqlsvm.train('first'); SHOW search_path; DROP SCHEMA other CASCADE;"
    assert answer(dsn, f"{setting} {trained}") == ["1", "other"]


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "state", "message", "hint"),
    [
        ("train('frist')", "SV002", 'there is no compiled program "frist"', "Did you mean first?"),
        ("train('first', lambda => 0)", "SV003", "lambda must be above 0, not 0", "For example lambda => 1e-4."),
        ("train('first', lambda => 'NaN')", "SV003", "lambda must be above 0, not NaN", "For example lambda => 1e-4."),
        ("train('first', tol => -1)", "SV003", "tol must be at least 0, not -1", "For example tol => 1e-3."),
        ("train('first', max_passes => 0)", "SV003", "max_passes must be at least 1, not 0", "For example"),
        ("train('first', solver => 'descent')", "SV003", 'there is no solver "descent" here', "Write solver => 'dane'"),
        ("evaluate('first')", "SV001", 'the program "first" has trained no model yet', "SELECT * FROM sqlsvm.train("),
        ("objective('first', '[]')", "SV003", "beta is not an object of weights by name", 'Write {"intercept"'),
        ("objective('first', '{\"weights\": {\"q\": 1}}')", "SV003", 'beta has a weight for "q"', "The features are"),
        (
            "objective('first', '{\"weights\": {\"a\": []}}')",
            "SV003",
            'the weight of "a" is not a number',
            'Write {"a"',
        ),
        ("row_count('first', '{}', 'Infinity')", "SV003", "bound must be a finite number", "For example bound => 1."),
        ("generalized_row_count('first', '{}', 0)", "SV003", "epsilon must be above 0, not 0", "For example"),
    ],
)
def test_arguments(dsn: str, call: str, state: str, message: str, hint: str) -> None:
    said = complaint(dsn, f"SELECT * FROM sqlsvm.{call};")
    assert said["SQLSTATE"] == state
    assert said["MESSAGE"].startswith(message)
    assert said["HINT"].startswith(hint)


SMALL = """
    CREATE TABLE f (k INT, y TEXT, x FLOAT8); CREATE TABLE p (k INT, z FLOAT8);
    INSERT INTO f SELECT i % 5, CASE WHEN i % 3 = 0 THEN 'yes' ELSE 'no' END, sin(i)
    FROM generate_series(1, 100) AS i;
    INSERT INTO p SELECT i, i FROM generate_series(0, 4) AS i
"""
CHANGES = {
    "INSERT INTO p VALUES (1, 0)": 'the key "p"."k" is no longer unique',
    "UPDATE f SET x = NULL WHERE k = 1": 'feature "x" is NULL in 20 rows',
    "UPDATE f SET x = 'NaN' WHERE k = 1": 'feature "x" is NaN or infinite in some rows of the join',
    "UPDATE f SET y = 'perhaps' WHERE k = 1": 'the label "y" has values that it did not have',
    "UPDATE f SET y = NULL WHERE k = 1": 'the label "y" is NULL in 20 rows of the join',
    "UPDATE f SET y = 'no'": 'the label "y" has one class only',
    "DELETE FROM p": 'the join of "small" has no rows',
}


def test_data_that_it_was_not_compiled_for(postgres: Engine, postgres_dsn: str) -> None:
    install(postgres)
    build(postgres, SMALL)
    compiled(
        postgres, "small", "SELECT f.y, f.x, p.z FROM f JOIN p ON p.k = f.k", training(positive="yes", nulls="error")
    )
    assert trained(postgres, postgres_dsn, "small", tol=0.5).version == 1
    for change, message in CHANGES.items():
        said = complaint(postgres_dsn, f"BEGIN; {change}; SELECT sqlsvm.train('small');")
        assert (said["SQLSTATE"], said["MESSAGE"]) == ("SV004", message)
        assert said["HINT"]
    assert trained(postgres, postgres_dsn, "small", tol=0.5).version == 2


def test_a_column_that_is_declared_not_null(postgres: Engine, postgres_dsn: str) -> None:
    """It has no coordinate for NULLs. If they come after all, the program is refused."""
    install(postgres)
    build(postgres, SMALL.replace("x FLOAT8", "x FLOAT8 NOT NULL"))
    text = "SELECT f.y, f.x, p.z FROM f JOIN p ON p.k = f.k WHERE p.z IS NOT NULL"
    asked = training(positive="yes", nulls="mean")
    made = stored_program(postgres, text, asked).description["coordinates"]
    assert [c["role"] for c in made] == ["intercept", "value", "value"]
    compiled(postgres, "declared", text, asked)
    assert trained(postgres, postgres_dsn, "declared", tol=0.5).version == 1
    change = "ALTER TABLE f ALTER x DROP NOT NULL; UPDATE f SET x = NULL WHERE k = 1"
    said = complaint(postgres_dsn, f"BEGIN; {change}; SELECT sqlsvm.train('declared');")
    assert (said["SQLSTATE"], said["MESSAGE"]) == ("SV004", 'feature "x" is NULL in 20 rows')


TWO_KEYS = """
    ALTER TABLE p ADD u INT; UPDATE p SET u = k + 10; CREATE TABLE q (u INT, v FLOAT8); CREATE TABLE m (k INT, n INT);
    INSERT INTO q SELECT i, i FROM generate_series(10, 20) AS i;
    INSERT INTO m SELECT i % 5, i FROM generate_series(1, 20) AS i
"""


def test_every_key_of_a_table_is_looked_at(postgres: Engine, postgres_dsn: str) -> None:
    """One that is unique still says nothing of another of the same table."""
    install(postgres)
    build(postgres, SMALL)
    build(postgres, TWO_KEYS)
    text = "SELECT f.y, f.x, p.z, q.v, m.n FROM f JOIN p ON p.k = f.k JOIN q ON q.u = p.u JOIN m ON m.k = f.k"
    compiled(postgres, "two", text, training(positive="yes"))
    assert trained(postgres, postgres_dsn, "two", tol=0.5).version == 1
    for change, key in {"(1, 0, 19)": '"p"."k"', "(9, 0, 11)": '"p"."u"'}.items():
        said = complaint(postgres_dsn, f"BEGIN; INSERT INTO p VALUES {change}; SELECT sqlsvm.train('two');")
        assert (said["SQLSTATE"], said["MESSAGE"]) == ("SV004", f"the key {key} is no longer unique")


def test_a_key_that_multiplies_no_rows_may_repeat(postgres: Engine, postgres_dsn: str) -> None:
    """Each row of `p` meets one row of `q`, however many rows of `p` have the same key."""
    install(postgres)
    build(postgres, SMALL)
    build(postgres, TWO_KEYS)
    text = "SELECT f.y, f.x, p.z, q.v FROM f JOIN p ON p.k = f.k JOIN q ON q.u = p.u"
    asked = training(positive="yes", lam=1e-2)
    compiled(postgres, "two", text, asked)
    build(postgres, "INSERT INTO p VALUES (9, 2, 11); INSERT INTO f VALUES (9, 'yes', 3), (9, 'no', 4)")
    model = trained(postgres, postgres_dsn, "two")
    assert_proven(postgres, model, truth(postgres, text, wish_of(asked)))
    said = complaint(postgres_dsn, "BEGIN; INSERT INTO p VALUES (1, 0, 19); SELECT sqlsvm.train('two');")
    assert said["MESSAGE"] == 'the key "p"."k" is no longer unique'


ODD = """
    CREATE TABLE a (y BOOLEAN, x FLOAT8, k BIGINT); CREATE TABLE b (k FLOAT8, z FLOAT8);
    CREATE TABLE c (k BIGINT, q INT);
    INSERT INTO a SELECT i % 2 = 0, sin(i), i % 5 FROM generate_series(1, 100) AS i;
    INSERT INTO b SELECT i, i FROM generate_series(0, 4) AS i; INSERT INTO c SELECT i, i FROM generate_series(0, 4) AS i
"""
HUGE_KEYS = """INSERT INTO a VALUES (true, 1, 9007199254740992), (false, 1, 9007199254740993);
    INSERT INTO b VALUES (9007199254740992, 1); INSERT INTO c VALUES (9007199254740992, 1), (9007199254740993, 2)"""


def test_keys_that_it_was_not_compiled_for(postgres: Engine, postgres_dsn: str) -> None:
    install(postgres)
    build(postgres, ODD)
    compiled(postgres, "odd", "SELECT y, x, z, q FROM a JOIN b ON a.k = b.k JOIN c ON c.k = b.k", training())
    assert trained(postgres, postgres_dsn, "odd", tol=0.5).version == 1
    said = complaint(postgres_dsn, f"BEGIN; {HUGE_KEYS}; SELECT sqlsvm.train('odd');")
    assert said["SQLSTATE"] == "SV004"
    assert said["MESSAGE"] == 'keys are compared by rounding them: "a"."k" and "c"."k" as double precision'
    assert said["DETAIL"].startswith("1 different keys would count as equal")


ND = "CREATE COLLATION nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
OTHER_TYPES = {
    "key": "ALTER TABLE p ALTER k TYPE float8",
    "feature": "ALTER TABLE f ALTER x TYPE numeric USING x::numeric",
    "collation of a category": "ALTER TABLE p ALTER c TYPE text COLLATE nd",
    "label": "ALTER TABLE f ALTER y TYPE varchar(9)",
}


@pytest.mark.parametrize("change", OTHER_TYPES)
def test_types_that_it_was_not_compiled_for(postgres: Engine, postgres_dsn: str, change: str) -> None:
    """Two keys that are compared by rounding need not have been when it was compiled."""
    install(postgres)
    build(
        postgres,
        """CREATE TABLE f (y TEXT, x FLOAT8, k BIGINT); CREATE TABLE p (k BIGINT, c TEXT);
        INSERT INTO f SELECT CASE WHEN i % 2 = 0 THEN 'yes' ELSE 'no' END, i, i % 4 FROM generate_series(1, 40) AS i;
        INSERT INTO p SELECT i, 'c' || i FROM generate_series(0, 3) AS i""",
    )
    compiled(postgres, "typed", "SELECT f.y, f.x, p.c FROM f JOIN p ON p.k = f.k", training(positive="yes"))
    assert trained(postgres, postgres_dsn, "typed", tol=0.5).version == 1
    if "COLLATE" in OTHER_TYPES[change]:
        build(postgres, ND)
    said = complaint(postgres_dsn, f"BEGIN; {OTHER_TYPES[change]}; SELECT sqlsvm.train('typed');")
    assert (said["SQLSTATE"], said["MESSAGE"]) == (
        "SV004",
        "keys, features or the label have other types than they had",
    )
    assert said["DETAIL"].startswith("1 of them")
    assert "Compile the query again" in said["HINT"]


@pytest.mark.parametrize("class_weight", ["none", "balanced"])
def test_features_that_it_was_not_compiled_for(postgres: Engine, postgres_dsn: str, class_weight: str) -> None:
    """What is a constant by now stays one, with all its digits or without; what varies far from 0 is refused."""
    install(postgres)
    build(postgres, ODD)
    asked = training(class_weight=class_weight, nulls="mean")
    compiled(postgres, "far", "SELECT y, x, k FROM a", asked)
    for change in (
        "x = x",
        "x = 0.1",
        "x = CASE WHEN k = 1 THEN 0.1 END",
        "x = CASE WHEN k = 1 THEN 1e-1 + 2e-1 ELSE 3e-1 END",
    ):
        build(postgres, f"UPDATE a SET {change}")
        found = trained(postgres, postgres_dsn, "far", tol=0.5)
        assert np.isfinite(found.objective)
    for far in ("1700000000 + k", "CASE WHEN k > 1 THEN 1700000000 + k END"):
        build(postgres, f"UPDATE a SET x = {far}")
        said = complaint(postgres_dsn, "SELECT sqlsvm.train('far');")
        assert said["SQLSTATE"] == "SV004"
        assert said["MESSAGE"].startswith('feature "x" is between 170000000')
        assert "about 170000000" in said["HINT"]


def test_a_feature_that_is_never_known(postgres: Engine, postgres_dsn: str) -> None:
    """It counts as 0, wherever the model is used."""
    install(postgres)
    build(postgres, ODD)
    build(postgres, "UPDATE a SET x = NULL")
    text = "SELECT y, x, k FROM a"
    compiled(postgres, "unknown", text, training(nulls="mean"))
    for model in (trained(postgres, postgres_dsn, "unknown"), train(postgres, "y", text, training(nulls="mean"))):
        assert {w.feature: w.missing for w in model.weights}["x"] == 0.0
        scores = postgres.fetch(predict(postgres, model))["score"]
        assert np.isfinite(scores).all()


def test_no_gap_at_all_may_be_wanted(postgres: Engine, postgres_dsn: str) -> None:
    install(postgres)
    build(postgres, ODD)
    compiled(postgres, "nothing", "SELECT y, x FROM a", training(tol=0.0, max_passes=4))
    assert trained(postgres, postgres_dsn, "nothing").passes <= 4


def test_weights_that_it_was_not_compiled_for(postgres: Engine, postgres_dsn: str) -> None:
    install(postgres)
    build(postgres, SMALL)
    text = "SELECT y, k, CASE WHEN x < 1e100 THEN 1 ELSE -1 END AS w FROM f"
    compiled(postgres, "heavy", text, training(positive="yes", weight="w"))
    assert trained(postgres, postgres_dsn, "heavy", tol=0.5).version == 1
    build(postgres, "UPDATE f SET x = x * 1e200")
    said = complaint(postgres_dsn, "SELECT sqlsvm.train('heavy');")
    assert said["MESSAGE"] == 'the weight "w" is negative, NaN, infinite or NULL in 50 rows'


def test_explain(dsn: str) -> None:
    rows = call(dsn, "explain", "first")
    assert {row["part"] for row in rows} >= {"sources", "prepare", "moments", "pass", "row count"}
    assert not [row for row in rows if row["part"] == "sample"]
    assert all(row["statement"].startswith(("SELECT", "CREATE TEMPORARY TABLE", "WITH")) for row in rows)


def test_a_reader_counts_and_does_not_train(dsn: str, prefix: str) -> None:
    role = f'{prefix} "reader"'
    quoted = '"' + role.replace('"', '""') + '"'
    with connect(dsn) as admin:
        admin.execute(parse_one(f"CREATE ROLE {quoted}", read="postgres"))
        try:
            install(admin, [role])
            typed(admin, parse_one(f"GRANT SELECT ON l, m, r TO {quoted}", read="postgres"))
            count = "SELECT count(*) FROM sqlsvm.row_count('first', '{}') WHERE feature = 'v';"
            assert answer(dsn, f'{QUIET} SET ROLE :"role"; {count}', {"role": role}) == ["6"]
            said = complaint(dsn, "SET ROLE :\"role\"; SELECT sqlsvm.train('first');", {"role": role})
            assert said["SQLSTATE"] == "SV006"
        finally:
            admin.execute(parse_one(f"DROP OWNED BY {quoted}", read="postgres"))
            admin.execute(parse_one(f"DROP ROLE {quoted}", read="postgres"))
