"""What an engine promises, on Spark."""

import datetime
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm import sql
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Kind, StatementError, Text, Values
from sqlsvm.errors import EngineError, OptionError, QueryError
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rewrites.split import _number_written
from tests.typed import query

VALUES = """
SELECT 1 AS place, CAST(7 AS SMALLINT) AS small, 8 AS int, CAST(9 AS BIGINT) AS big, CAST(1.5 AS FLOAT) AS real,
       CAST(2.5 AS DOUBLE) AS double, CAST(3.25 AS DECIMAL(10, 2)) AS decimal, TRUE AS truth, 'x' AS text,
       CAST('2020-02-29' AS DATE) AS day, CAST('NaN' AS DOUBLE) AS nan, CAST('-Infinity' AS DOUBLE) AS infinity
"""
NULLS = "SELECT 2" + ", NULL" * 11


def test_values_arrive_as_promised(spark: Engine) -> None:
    rows = spark.fetch(query(spark, f"{VALUES} UNION ALL {NULLS} ORDER BY place"))
    for name, value in {
        "small": 7,
        "int": 8,
        "big": 9,
        "real": 1.5,
        "double": 2.5,
        "decimal": 3.25,
        "truth": 1,
    }.items():
        assert rows[name].dtype == float
        assert rows[name][0] == value
        assert np.isnan(rows[name][1])
    assert rows["text"].tolist() == ["x", None]
    assert rows["day"].tolist() == [datetime.date(2020, 2, 29), None]
    whole = spark.fetch(query(spark, VALUES))
    assert [whole[n].dtype.name for n in ("small", "int", "big", "truth", "real")] == [
        *["int64"] * 3,
        "bool",
        "float64",
    ]
    assert np.isnan(whole["nan"][0])
    assert whole["infinity"][0] == -np.inf


def test_numbers_survive_to_the_last_bit(spark: Engine) -> None:
    numbers = np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, np.nan, np.inf])
    given = sql.items(exp.cast(exp.Parameter(this=sql.integer(1)), exp.DataType.build("double[]")), "p", "u", "j")
    found = spark.fetch(exp.select("u", "j").from_(given).order_by("j"), (numbers,))
    assert found["u"].tobytes() == numbers.tobytes()
    assert found["j"].tolist() == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("numbers", [np.zeros(0), np.array([1, 0, 1], dtype=np.int8), np.array([True, False])])
def test_any_array_of_numbers_is_a_parameter(spark: Engine, numbers: Values) -> None:
    given = sql.items(exp.cast(exp.Parameter(this=sql.integer(1)), exp.DataType.build("double[]")), "p", "u")
    assert sorted(spark.fetch(exp.select("u").from_(given), (numbers,))["u"]) == sorted(numbers.astype(float))


def test_an_element_beyond_the_end_is_null(spark: Engine) -> None:
    numbers = exp.cast(exp.Parameter(this=sql.integer(1)), exp.DataType.build("double[]"))
    found = [sql.element(numbers.copy(), sql.integer(n)) for n in (1, 3, 4)]
    rows = spark.fetch(sql.select([(value, f"x{n}") for n, value in enumerate(found)]), (np.array([5.0, 6.0, 7.0]),))
    assert [rows["x0"][0], rows["x1"][0]] == [5.0, 7.0]
    assert np.isnan(rows["x2"][0])


def test_texts_and_scalars_are_parameters(spark: Engine) -> None:
    text = "SELECT CAST($1 AS STRING) AS t, CAST($2 AS DOUBLE) AS x, CAST($3 AS BIGINT) AS i"
    tree = parse_one(text.replace("STRING", "TEXT"), read="postgres")
    rows = spark.fetch(tree, ("it's \\ $1", np.float64(0.1), np.int64(3)))
    assert [values[0] for values in rows.values()] == ["it's \\ $1", 0.1, 3]


KINDS: dict[Kind, list[str]] = {
    "numeric": ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)"],
    "boolean": ["BOOLEAN"],
    "categorical": ["STRING", "VARCHAR(3)", "CHAR(2)"],
    "date": ["DATE"],
    "timestamptz": ["TIMESTAMP"],
    "other": ["ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<a: INT>", "VARIANT", "BINARY"],
}


def test_each_type_has_a_kind(spark: Engine) -> None:
    names = [type for group in KINDS.values() for type in group]
    nulls = ", ".join(f"CAST(NULL AS {type}) AS x{n}" for n, type in enumerate(names))
    found = {name: c.kind for name, c in zip(names, spark.describe(_raw(nulls)), strict=True)}
    assert found == {type: kind for kind, group in KINDS.items() for type in group}


def _raw(outputs: str) -> exp.Query:
    tree = parse_one(f"SELECT {outputs}", read="spark")
    assert isinstance(tree, exp.Query)
    return tree


@pytest.mark.parametrize(
    ("type", "remedy"), [("MAP<STRING, INT>", "x['key']"), ("STRUCT<a: INT>", "x.city"), ("VARIANT", "variant_get")]
)
def test_a_type_that_is_no_feature_is_refused(spark: Engine, type: str, remedy: str) -> None:
    text = f"SELECT t.y, t.m FROM (SELECT 1 AS y, CAST(NULL AS {type}) AS m) AS t"
    with pytest.raises(QueryError, match="feature m is of type") as refused:
        read_query(spark, text, label="y")
    assert remedy in str(refused.value.hint)


def test_two_columns_of_one_name_are_refused(spark: Engine) -> None:
    with pytest.raises(EngineError, match='more than one column named "a"'):
        spark.fetch(query(spark, "SELECT 1 AS a, 2 AS a"))


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT * FROM nowhere", "no such name"),
        ("SELECT * FROM nowhere.t", "no such name"),
        ("SELECT CAST(x AS INT) AS x FROM (SELECT 'one' AS x) AS t", "value"),
        ("SELECT nope FROM (SELECT 1 AS nap) AS t", None),
        ("SELECT x + FROM", None),
    ],
)
def test_an_error_is_one_line_without_java(
    spark: Engine, statement: str, kind: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StatementError) as caught:
        spark.fetch(Text(statement))
    error = caught.value
    assert error.kind == kind
    assert "\n" not in error.message
    assert not any(word in f"{error.message} {error.detail}" for word in ("org.apache", "java.", "SQLSTATE", "\tat "))
    assert capfd.readouterr().err == ""
    assert spark.fetch(query(spark, "SELECT 1 AS a"))["a"].tolist() == [1]


def test_a_working_table_is_kept_and_forgotten(spark: Engine) -> None:
    asked = parse_one("SELECT CAST($1 AS INT) AS x", read="postgres")
    assert isinstance(asked, exp.Query)
    for readers in (1, 2):
        spark.keep("sqlsvm_kept", spark.to_keep("sqlsvm_kept", asked, readers=readers), [3])
        assert spark.fetch(exp.select("x").from_("sqlsvm_kept"))["x"].tolist() == [3]
        spark.forget("sqlsvm_kept")
        with pytest.raises(StatementError):
            spark.fetch(exp.select("x").from_("sqlsvm_kept"))


def test_texts_come_as_they_are_made(spark: Engine) -> None:
    rows = spark.texts(query(spark, "SELECT CAST(a.id AS STRING) AS i FROM RANGE(100000) AS a"))
    assert [value for (value,) in islice(rows, 3)] == ["0", "1", "2"]
    rows.close()


def test_describing_reads_nothing(spark: Engine) -> None:
    (column,) = spark.describe(query(spark, "SELECT CAST(x AS DOUBLE) AS y FROM (SELECT 'no number' AS x) AS t"))
    assert column.kind == "numeric"


def test_functions_that_differ_from_call_to_call(spark: Engine) -> None:
    called = [("", name) for name in ("abs", "NOW", "shuffle", "java_method")]
    assert spark.volatile_functions(called) == ("NOW", "java_method", "shuffle")


def test_a_number_has_the_text_that_it_has_elsewhere(spark: Engine, duckdb: Engine) -> None:
    numbers = [0.5, 1.5e-5, -2.25e-12, 12345678.5, 0.00012, 123456789012.25, 3.0, 1e20, -7.0, 1 / 3]
    rows = [exp.select(exp.alias_(sql.number(value), "x")) for value in numbers]
    every = exp.union(*rows, distinct=False).subquery("r")
    wanted = exp.select(exp.alias_(_number_written(sql.column("x")), "t")).from_(every)
    assert sorted(spark.fetch(wanted)["t"]) == sorted(duckdb.fetch(wanted)["t"])


def test_digests_tell_rows_apart(spark: Engine) -> None:
    def digest(text: str) -> str:
        return spark.digest(query(spark, text))

    one = digest("SELECT 1 AS a, NULL AS b UNION ALL SELECT 2, 'x'")
    assert one == digest("SELECT 2 AS a, 'x' AS b UNION ALL SELECT 1, NULL")
    assert (
        len({one, digest("SELECT 2 AS a, NULL AS b UNION ALL SELECT 1, 'x'"), digest("SELECT 1 AS a, NULL AS b")}) == 3
    )


def test_keys_that_a_comparison_rounds(spark: Engine) -> None:
    assert spark.compared_as(["bigint", "double"]) == "double"
    assert spark.compared_as(["int", "double"]) is None
    assert spark.compared_as(["string", "int"]) == "bigint"
    assert spark.compared_as(["int", "bigint"]) is None
    assert spark.compared_as(["decimal(10,2)", "float"]) == "double"


def test_a_collation_blurs(spark: Engine) -> None:
    rows = query(spark, "SELECT 'a' AS t, COLLATE('a', 'UTF8_LCASE') AS u")
    plain, blurred = spark.describe(rows)
    assert spark.blur(plain, rows) is None
    assert "UTF8_LCASE" in str(spark.blur(blurred, rows))


def test_snapshots_do_not_nest(spark: Engine) -> None:
    with spark.snapshot(), pytest.raises(EngineError, match="already open"), spark.snapshot():
        pass


# -- sessions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "said"),
    [("spark:nonsense", "no master of Spark"), ("spark:local[*]?driver.memory=4g", "not spark.NAME=VALUE")],
)
def test_a_wrong_url(url: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        connect(url)


def test_a_master_that_is_not_there() -> None:
    """In a process of its own, as this one has a session."""
    words = [
        sys.executable,
        "-m",
        "sqlsvm",
        "inspect",
        "--dsn",
        "spark:spark://localhost:1",
        "--query",
        "SELECT 1 AS x",
    ]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "cannot reach spark://localhost:1" in refused.stderr
    assert "is a master running there?" in refused.stderr


def test_no_java(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "sqlsvm", "inspect", "--dsn", "spark:local[1]", "--query", "SELECT 1 AS x"]
    bare = {**os.environ, "JAVA_HOME": str(tmp_path)}
    refused = subprocess.run(words, capture_output=True, text=True, check=False, env=bare)
    assert "Spark needs Java, and did not find it" in refused.stderr
    assert "install Java 17" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(EngineError, match="cannot reach sc://localhost") as refused:
        connect("spark:sc://localhost:1/;token=secret")
    assert "secret" not in str(refused.value)


def test_a_session_of_the_user_stays_as_it_was(spark: Engine) -> None:
    session = spark._session.newSession()  # type: ignore[attr-defined]
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with connect(session) as engine:
        assert engine.fetch(query(engine, "SELECT 1 AS a"))["a"].tolist() == [1]
        assert session.conf.get("spark.sql.session.timeZone") == "UTC"
    assert session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert session.sql("SELECT 2 AS b").collect()[0]["b"] == 2


def test_only_postgresql_has_a_work_schema(spark: Engine, duckdb: Engine) -> None:
    with pytest.raises(OptionError, match="only PostgreSQL"):
        spark.work_in("work")
    with pytest.raises(OptionError, match="only Spark"):
        duckdb.work_in_folder("work")
