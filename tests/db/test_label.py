"""The label as a sign: which values it may have, and which of them is the positive class."""

import psycopg
import pytest
from sqlglot import exp, parse

from sqlsvm.ask.inspect import inspect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError, SqlsvmError
from sqlsvm.model.predict import predict
from sqlsvm.plan.target import target_of
from sqlsvm.psql.install import install
from sqlsvm.query.read_query import read_query
from sqlsvm.run.train import train
from tests.evaluating import evaluate_model
from tests.ground.opened import build
from tests.ground.sql_program import compiled, trained
from tests.ground.trained import training
from tests.typed import asked, typed

pytestmark = pytest.mark.twin


def told(engine: Engine, type: str, values: str, *, label: str = "y", positive: str | None = None) -> tuple[float, ...]:
    """Rows that are negative, positive and neither."""
    for statement in parse(
        f"CREATE TABLE t (x INT, y {type});"
        f"INSERT INTO t (x, y) SELECT 1, CAST(v AS {type}) FROM (VALUES {values}) AS s (v)",
        read=engine.dialect,
    ):
        assert statement is not None
        typed(engine, statement)
    found = inspect(engine, f"SELECT x, {label} AS y FROM t", label="y", positive=positive)
    assert found.label
    return found.label.negative, found.label.positive, found.label.nulls


@pytest.mark.twin(False)
@pytest.mark.parametrize(
    ("type", "values", "expected"),
    [
        ("BOOLEAN", "(TRUE), (FALSE), (FALSE)", (2, 1, 0)),
        ("BOOLEAN", "(TRUE), (FALSE), (NULL)", (1, 1, 1)),
        ("BOOLEAN", "(FALSE)", (1, 0, 0)),
        ("INT", "(-1), (1), (1)", (1, 2, 0)),
        ("INT", "(0), (1), (1)", (1, 2, 0)),
        ("BIGINT", "(0), (0), (NULL)", (2, 0, 1)),
        ("INT", "(-1)", (1, 0, 0)),
        ("INT", "(1)", (0, 1, 0)),
        ("DOUBLE PRECISION", "(-1.0), (1.0)", (1, 1, 0)),
        ("DECIMAL(4, 2)", "(0.00), (1.00), (1)", (1, 2, 0)),
    ],
)
def test_values_that_need_no_telling(engine: Engine, type: str, values: str, expected: tuple[float, ...]) -> None:
    assert told(engine, type, values) == expected


@pytest.mark.twin(False)
@pytest.mark.parametrize(
    ("type", "values", "positive", "expected"),
    [
        ("TEXT", "('yes'), ('no'), ('no')", "yes", (2, 1, 0)),
        ("TEXT", "('yes'), ('no'), (NULL)", "no", (1, 1, 1)),
        ("TEXT", "('it''s'), ('%s')", "it's", (1, 1, 0)),
        ("TEXT", "('a')", "a", (0, 1, 0)),
        ("INT", "(3), (7), (7)", "7", (1, 2, 0)),
        ("INT", "(3), (-7)", "-7", (1, 1, 0)),
        ("INT", "(-1), (1)", "-1", (1, 1, 0)),
        ("BIGINT", "(9007199254740993), (9007199254740992), (0)", "0", None),
        ("DECIMAL(4, 2)", "(0), (1)", "0", (1, 1, 0)),
        ("DOUBLE PRECISION", "(0.5), (2.5)", "0.50", (1, 1, 0)),
        ("DOUBLE PRECISION", "(0.1), (-0.1)", "-0.1", (1, 1, 0)),
        ("REAL", "(0.9), (0.1), (0.1)", "0.9", (2, 1, 0)),
        ("REAL", "(-0.9), (0.5)", "-0.90", (1, 1, 0)),
        ("REAL", "(1e10), (1)", "10000000000", (1, 1, 0)),
        ("BOOLEAN", "(TRUE), (FALSE), (FALSE)", "FALSE", (1, 2, 0)),
    ],
)
def test_the_positive_value(
    engine: Engine, type: str, values: str, positive: str, expected: tuple[float, ...] | None
) -> None:
    if expected is None:
        with pytest.raises(DataError, match="more than two values"):
            told(engine, type, values, positive=positive)
    else:
        assert told(engine, type, values, positive=positive) == expected


@pytest.mark.parametrize(
    ("type", "values", "positive"),
    [
        ("TEXT", "('no'), ('yes')", "yes"),
        ("TEXT", "('N'), ('Y')", "Y"),
        ("TEXT", "('yes'), ('zero')", "yes"),
        ("TEXT", "('True'), ('False')", "True"),
        ("TEXT", "('big dog'), ('cat')", "cat"),
        ("INT", "(10), (9)", "10"),
        ("REAL", "(0.9), (0.1)", "0.9"),
    ],
)
def test_of_two_values_one_is_positive(engine: Engine, type: str, values: str, positive: str) -> None:
    """What means yes, or else the last one."""
    values = f"{values}, {values.split(', ')[0]}"
    unnamed = told(engine, type, values)
    typed(engine, "DROP TABLE t")
    assert unnamed == told(engine, type, values, positive=positive)


@pytest.mark.parametrize("numbers", [(1, 2), (0, 5), (-3, 1)])
def test_a_row_is_predicted_to_be_the_number_that_was_chosen(engine: Engine, numbers: tuple[int, int]) -> None:
    """Each of 1 and 2 was predicted as the other one, and 5 of 0 and 5 as nothing."""
    low, high = numbers
    typed(engine, "CREATE TABLE t (x INT, y INT)")
    typed(engine, f"INSERT INTO t VALUES (1, {low}), (2, {low}), (8, {high}), (9, {high})")
    model = train(engine, "m", "SELECT x, y FROM t", training(loss="hinge", lam=0.01))
    assert model.positive == str(high)
    found = engine.fetch(predict(engine, model, model.query))
    assert found["prediction"].tolist() == found["y"].tolist()


def test_equal_numbers_of_different_spelling_are_one_value(postgres: Engine) -> None:
    assert told(postgres, "NUMERIC", "(0), (0.0), (1), (1.00)") == (2, 2, 0)


def test_an_expression(engine: Engine) -> None:
    assert told(engine, "INT", "(3), (8), (12)", label="y > 5") == (1, 2, 0)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("y > 5", (2, 1, 0)),
        ("(y > 10) OR (y > 5)", (2, 1, 0)),
        ("y > 5 AND y < 10", (1, 2, 0)),
        ("NOT y > 5", (1, 2, 0)),
        ("y IN (3, 8)", (2, 1, 0)),
        ("y BETWEEN 3 AND 8", (2, 1, 0)),
        ("y IS NULL", (0, 3, 0)),
    ],
)
def test_an_expression_whose_positive_value_is_false(engine: Engine, label: str, expected: tuple[float, ...]) -> None:
    """Compared as a whole, not the last part of it."""
    assert told(engine, "INT", "(3), (8), (12)", label=label, positive="false") == expected


@pytest.mark.parametrize(
    ("type", "values", "positive", "message"),
    [
        (
            "TEXT",
            "('no')",
            None,
            "the label y has the value 'no'\nHINT: say whether it is the positive class: positive='no'",
        ),
        (
            "TEXT",
            "('so so'), ('b '), ('c')",
            "b ",
            "the label y has more than two values in t\nDETAIL: among them 'b ', 'c', 'so so'\n"
            "HINT: leave the others out: WHERE \"t\".\"y\" IN ('b ', 'c'), "
            'or make two classes of them: "t"."y" = \'b \' AS y_is_one',
        ),
        (
            "INT",
            "(1), (-2), (30)",
            "-2",
            "the label y has more than two values in t\nDETAIL: among them '-2', '1', '30'\n"
            'HINT: leave the others out: WHERE "t"."y" IN (-2, 1), '
            'or make two classes of them: "t"."y" = -2 AS y_is_one',
        ),
        (
            "TEXT",
            "('a'), ('b'), ('c')",
            "c",
            "the label y has more than two values in t\nDETAIL: among them 'a', 'b', 'c'\n"
            "HINT: leave the others out: WHERE \"t\".\"y\" IN ('c', 'a'), "
            'or make two classes of them: "t"."y" = \'c\' AS y_is_one',
        ),
        (
            "TEXT",
            "('late'), ('early')",
            "lote",
            "the label y never has the value 'lote'\nDETAIL: its values are 'early', 'late'\nHINT: did you mean late?",
        ),
        ("INT", "(0), (1)", "2", "the label y never has the value '2'\nDETAIL: its values are '0', '1'"),
        ("INT", "(0), (1)", "one", "the label y never has the value 'one'\nDETAIL: its values are '0', '1'"),
        (
            "BOOLEAN",
            "(TRUE), (FALSE)",
            "1",
            "the label y never has the value '1'\nDETAIL: its values are 'false', 'true'",
        ),
    ],
)
def test_refusals(engine: Engine, type: str, values: str, positive: str | None, message: str) -> None:
    with pytest.raises(SqlsvmError) as caught:
        told(engine, type, values, positive=positive)
    assert str(caught.value) == message


@pytest.mark.parametrize(("positive", "counts"), [("9007199254740993", (3, 1, 0)), ("9007199254740992", (1, 3, 0))])
def test_integers_that_are_one_double_are_told_apart(engine: Engine, positive: str, counts: tuple[int, ...]) -> None:
    values = "(9007199254740992), (9007199254740992), (9007199254740993), (9007199254740992)"
    assert told(engine, "BIGINT", values, positive=positive) == counts


@pytest.mark.parametrize("type", ["TEXT", "INT", "BOOLEAN"])
@pytest.mark.parametrize("positive", [None, "1"])
def test_an_empty_label_can_be_inspected(engine: Engine, type: str, positive: str | None) -> None:
    """Why a join is empty is what `inspect` is for."""
    assert told(engine, type, "(NULL)", positive=positive) == (0, 0, 1)


def test_no_label(engine: Engine) -> None:
    for statement in parse("CREATE TABLE t (x INT)", read=engine.dialect):
        assert statement is not None
        typed(engine, statement)
    with pytest.raises(OptionError, match="no label was named"):
        target_of(engine, read_query(engine, "SELECT x FROM t"), "hinge", positive=None, centred=False)


def test_the_label_of_an_optional_relation_is_null_without_a_match(engine: Engine) -> None:
    for statement in parse(
        "CREATE TABLE a AS SELECT * FROM (VALUES (1), (2), (3)) AS v (k);"
        "CREATE TABLE b AS SELECT * FROM (VALUES (1, 'no', 5), (2, 'yes', 6)) AS v (k, y, x)",
        read=engine.dialect,
    ):
        assert statement is not None
        typed(engine, statement)
    found = inspect(engine, "SELECT a.k, b.y FROM a LEFT JOIN b USING (k)", label="y", positive="yes")
    assert found.label
    assert (found.label.negative, found.label.positive, found.label.nulls) == (1, 1, 1)


def test_a_third_value_that_the_join_leaves_out(engine: Engine) -> None:
    """It is left out by WHERE, for the values are those of the label's own relation."""
    for statement in parse(
        "CREATE TABLE loans (k INT, status TEXT, x INT);"
        "INSERT INTO loans VALUES (1, 'repaid', 5), (1, 'default', 6), (2, 'open', 7);"
        "CREATE TABLE banks AS SELECT * FROM (VALUES (1, 3)) AS v (k, z)",
        read=engine.dialect,
    ):
        assert statement is not None
        typed(engine, statement)
    query = "SELECT l.status, l.x, b.z FROM loans l JOIN banks b ON b.k = l.k"
    with pytest.raises(DataError) as refused:
        inspect(engine, query, label="status", positive="default")
    assert refused.value.message == "the label status has more than two values in l"
    where = """WHERE "l"."status" IN ('default', 'repaid')"""
    assert where.replace("'repaid'", "'open'") in str(refused.value.hint)
    found = inspect(engine, f"{query} {where}", label="status", positive="default")
    assert found.label
    assert (found.label.negative, found.label.positive, found.label.nulls) == (1, 1, 0)


SINGLE = """
    CREATE TABLE t AS SELECT g AS x, CAST(CASE WHEN SIN(g) > 0.1 THEN 0.9 ELSE -0.1 END AS REAL) AS y
    FROM GENERATE_SERIES(1, 60) AS r(g)"""


@pytest.mark.parametrize("offload", [False, True])
def test_the_classes_of_a_real_are_what_the_driver_returns(postgres: Engine, postgres_dsn: str, offload: bool) -> None:
    """psycopg returns 0.9, and DuckDB's driver the nearest double of 24 digits."""
    build(postgres, SINGLE)
    model = train(postgres, "m", "SELECT x, y FROM t", training(positive="0.9", offload=offload))
    with psycopg.connect(postgres_dsn) as driver:
        returned = {value for (value,) in driver.execute("SELECT y FROM t").fetchall()}
    assert set(model.trained_on.label_values) == returned == {0.9, -0.1}
    rows = predict(postgres, model).subquery("p")
    same = postgres.fetch(exp.select("COUNT(*) AS n").from_(rows).where("prediction = y"))["n"][0]
    assert same / 60 == pytest.approx(evaluate_model(postgres, model).accuracy.value) != 0


def test_the_classes_of_a_real_in_duckdb(duckdb: Engine) -> None:
    build(duckdb, SINGLE)
    model = train(duckdb, "m", "SELECT x, y FROM t", training(positive="0.9"))
    assert set(model.trained_on.label_values) == set(asked(duckdb, "SELECT DISTINCT y FROM t")["y"].tolist())


def test_a_stored_program_knows_the_classes_of_a_real(postgres: Engine, postgres_dsn: str) -> None:
    build(postgres, SINGLE)
    install(postgres)
    compiled(postgres, "single", "SELECT x, y FROM t", training(positive="0.9"))
    assert set(trained(postgres, postgres_dsn, "single").trained_on.label_values) == {0.9, -0.1}
