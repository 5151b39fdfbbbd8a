"""What an engine promises, on the real ones."""

import datetime
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlglot import exp, parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Column, Engine, Kind, Refusal, StatementError, Text, Values
from sqlsvm.engine.postgres import Postgres
from sqlsvm.errors import EngineError, QueryError
from sqlsvm.query.read_query import read_query
from tests.typed import asked, meant, query, run, typed

pytestmark = pytest.mark.each

EVIL_NAMES = [
    'a"b',
    "it's",
    "per%cent",
    "$1",
    "new\nline",
    "ä€𝄞",
    "SELECT",
    " ",
    "a;--",
    "back\\slash",
    "{brace}",
    "%s",
]


VALUES = """
SELECT 1 AS place, CAST(7 AS SMALLINT) AS small, 8 AS int, CAST(9 AS BIGINT) AS big, CAST(1.5 AS REAL) AS real,
       CAST(2.5 AS DOUBLE PRECISION) AS double, CAST(3.25 AS DECIMAL(10, 2)) AS decimal, TRUE AS truth, 'x' AS text,
       CAST('00000000-0000-0000-0000-0000000000ff' AS UUID) AS uuid, CAST('2020-02-29' AS DATE) AS day,
       CAST('NaN' AS DOUBLE PRECISION) AS nan, CAST('-Infinity' AS DOUBLE PRECISION) AS infinity
"""
NULLS = "SELECT 2" + ", NULL" * 12


def test_numbers_arrive_as_wide_as_python_s(engine: Engine) -> None:
    rows = engine.fetch(query(engine, VALUES))
    assert {name: rows[name].dtype.name for name in ("small", "int", "big", "real", "double", "decimal", "truth")} == {
        **dict.fromkeys(("small", "int", "big"), "int64"),
        **dict.fromkeys(("real", "double", "decimal"), "float64"),
        "truth": "bool",
    }
    expected = [7, 8, 9, 1.5, 2.5, 3.25, True]
    assert [rows[name][0] for name in ("small", "int", "big", "real", "double", "decimal", "truth")] == expected


def test_a_value_that_is_no_number_arrives_as_an_object(engine: Engine) -> None:
    rows = engine.fetch(query(engine, VALUES))
    assert rows["text"].tolist() == ["x"]
    assert rows["uuid"].tolist() == ["00000000-0000-0000-0000-0000000000ff"]
    assert rows["day"].tolist() == [datetime.date(2020, 2, 29)]
    assert {rows[name].dtype for name in ("text", "uuid", "day")} == {np.dtype(object)}


def test_null_is_nan_in_a_number_and_none_elsewhere(engine: Engine) -> None:
    rows = engine.fetch(query(engine, f"{VALUES} UNION ALL {NULLS} ORDER BY place"))
    for name in ("small", "int", "big", "real", "double", "decimal", "truth"):
        assert rows[name].dtype == float
        assert np.isnan(rows[name]).tolist() == [False, True]
    for name in ("text", "uuid", "day"):
        assert rows[name][1] is None


def test_nan_and_infinity_are_values(engine: Engine) -> None:
    rows = engine.fetch(query(engine, VALUES))
    assert np.isnan(rows["nan"][0])
    assert rows["infinity"][0] == -np.inf


def test_numbers_survive_to_the_last_bit(engine: Engine) -> None:
    numbers = np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3])
    run(engine, "CREATE TEMPORARY TABLE t (x DOUBLE PRECISION)")
    engine.copy_in(meant(engine, "t"), {"x": numbers})
    fetched = engine.fetch(query(engine, "SELECT x FROM t"))["x"]
    passed = engine.fetch(query(engine, "SELECT UNNEST(CAST($1 AS DOUBLE PRECISION[])) AS x"), (numbers,))["x"]
    assert sorted(fetched.view(np.int64)) == sorted(numbers.view(np.int64))
    assert passed.tobytes() == numbers.tobytes()


def test_the_largest_integers_are_exact(engine: Engine) -> None:
    rows = engine.fetch(query(engine, "SELECT 9223372036854775807 AS top, CAST(9007199254740993 AS BIGINT) AS odd"))
    assert (rows["top"][0], rows["odd"][0]) == (9223372036854775807, 9007199254740993)


def test_no_rows_still_have_columns_in_order(engine: Engine) -> None:
    rows = engine.fetch(query(engine, f"SELECT * FROM ({VALUES}) AS q WHERE FALSE"))
    assert list(rows)[:4] == ["place", "small", "int", "big"]
    assert all(len(values) == 0 for values in rows.values())
    assert rows["double"].dtype == float
    assert rows["text"].dtype == object


@pytest.mark.parametrize("name", EVIL_NAMES)
def test_any_name_of_a_column_and_a_table_works(engine: Engine, name: str) -> None:
    column, place = exp.to_identifier(name, quoted=True), exp.Table(this=exp.to_identifier(name, quoted=True))
    numbers = exp.select(exp.alias_(exp.Literal.number(1), column))
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    engine.execute(exp.Create(this=place, kind="TABLE", expression=numbers, properties=temporary))
    engine.copy_in(place, {name: np.array([2])})
    everything = exp.select("*").from_(place)
    assert sorted(engine.fetch(everything)[name]) == [1, 2]
    assert [described.name for described in engine.describe(everything)] == [name]


def test_two_columns_of_one_name_are_refused(engine: Engine) -> None:
    with pytest.raises(EngineError, match='more than one column named "a"'):
        engine.fetch(query(engine, "SELECT 1 AS a, 2 AS a"))


@pytest.mark.parametrize("dtype", [float, np.float32, np.int64, np.int8, np.uint8, bool])
def test_an_array_of_numbers_is_a_parameter(engine: Engine, dtype: type) -> None:
    numbers: Values = np.array([1, 0, 1], dtype=dtype)
    unnest = query(engine, "SELECT UNNEST(CAST($1 AS DOUBLE PRECISION[])) AS x")
    assert engine.fetch(unnest, (numbers,))["x"].tolist() == [1.0, 0.0, 1.0]


def test_an_empty_array_and_one_with_nan_are_parameters(engine: Engine) -> None:
    unnest = query(engine, "SELECT UNNEST(CAST($1 AS DOUBLE PRECISION[])) AS x")
    assert len(engine.fetch(unnest, (np.zeros(0),))["x"]) == 0
    assert np.isnan(engine.fetch(unnest, (np.array([np.nan]),))["x"]).all()


def test_texts_and_scalars_are_parameters(engine: Engine) -> None:
    text = "SELECT CAST($1 AS TEXT) AS t, CAST($2 AS DOUBLE PRECISION) AS x, CAST($3 AS BIGINT) AS i, $4 = $4 AS b"
    rows = engine.fetch(query(engine, text), ("it's", np.float64(0.1), np.int64(3), True))
    assert [values[0] for values in rows.values()] == ["it's", 0.1, 3, True]
    names = np.array(["a'b", "%s"], dtype=object)
    assert engine.fetch(query(engine, "SELECT UNNEST(CAST($1 AS TEXT[])) AS t"), (names,))["t"].tolist() == [*names]


def test_a_parameter_may_stand_in_create_table_as(engine: Engine) -> None:
    text = "CREATE TEMPORARY TABLE beta AS SELECT UNNEST(CAST($1 AS DOUBLE PRECISION[])) AS b"
    typed(engine, parse_one(text, read=engine.dialect), (np.array([1.0, 2.0]),))
    assert engine.fetch(query(engine, "SELECT SUM(b) AS total FROM beta"))["total"].tolist() == [3.0]


def test_a_text_that_is_kept_reads_what_is_there_now(engine: Engine) -> None:
    text = engine.text(query(engine, "SELECT v * $1 AS w FROM t"))
    for value in (2, 3):
        run(engine, f"CREATE TEMPORARY TABLE t AS SELECT CAST({value} AS DOUBLE PRECISION) AS v")
        assert [engine.fetch(text, [times])["w"].tolist() for times in (5.0, 7.0)] == [[5 * value], [7 * value]]
        run(engine, "DROP TABLE t")
    with pytest.raises(StatementError):
        engine.fetch(text, [5.0])


def test_a_built_parameter_is_rendered_natively(engine: Engine) -> None:
    parameter = exp.cast(exp.Parameter(this=exp.Literal.number(1)), "double")
    assert engine.fetch(exp.select(exp.alias_(parameter, "x")), (2.0,))["x"].tolist() == [2.0]


KINDS: dict[Kind, list[str]] = {
    "numeric": ["SMALLINT", "INT", "BIGINT", "REAL", "DOUBLE PRECISION", "DECIMAL(10, 2)"],
    "boolean": ["BOOLEAN"],
    "categorical": ["TEXT", "VARCHAR(3)", "CHAR(2)", "UUID", "mood"],
    "date": ["DATE"],
    "timestamp": ["TIMESTAMP"],
    "interval": ["INTERVAL"],
    "other": ["DOUBLE PRECISION[]", "TEXT[]", "JSON"],
}
KINDS_OF_POSTGRESQL: dict[Kind, list[str]] = {
    "categorical": ["NAME", '"char"'],
    "other": ["OID", "MONEY", "REGCLASS", "mood[]", "JSONB", "INET"],
}


def kinds(engine: Engine, types: dict[Kind, list[str]]) -> dict[str, Kind]:
    run(engine, "CREATE TYPE mood AS ENUM ('bad', 'good')")
    nulls = ", ".join(f"CAST(NULL AS {type}) AS x" for group in types.values() for type in group)
    columns = engine.describe(query(engine, f"SELECT {nulls}"))
    names = [type for group in types.values() for type in group]
    return {name: column.kind for name, column in zip(names, columns, strict=True)}


def test_each_type_has_a_kind(engine: Engine) -> None:
    assert kinds(engine, KINDS) == {type: kind for kind, group in KINDS.items() for type in group}


def test_each_type_of_postgresql_has_a_kind(postgres: Engine) -> None:
    expected = {type: kind for kind, group in KINDS_OF_POSTGRESQL.items() for type in group}
    assert kinds(postgres, KINDS_OF_POSTGRESQL) == expected


@pytest.mark.parametrize("type", ["TINYINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT"])
def test_each_integer_of_duckdb_is_numeric(duckdb: Engine, type: str) -> None:
    one = query(duckdb, f"SELECT CAST(1 AS {type}) AS x")
    assert duckdb.describe(one)[0].kind == "numeric"
    assert duckdb.fetch(one)["x"].tolist() == [1]


def test_a_null_is_a_text_until_it_is_cast(engine: Engine) -> None:
    (column,) = engine.describe(query(engine, "SELECT NULL AS a"))
    assert column.kind == "categorical"


def test_the_type_is_told_in_the_words_of_the_engine(postgres: Engine) -> None:
    columns = postgres.describe(query(postgres, "SELECT CAST(1 AS DECIMAL(10, 2)) AS d, CAST('a' AS VARCHAR(3)) AS v"))
    assert columns == (Column("d", "numeric(10,2)", "numeric"), Column("v", "character varying(3)", "categorical"))


def test_a_column_says_which_texts_are_equal(postgres: Engine) -> None:
    typed(postgres, "CREATE EXTENSION citext")
    texts = query(postgres, "SELECT CAST('a' AS CHAR(3)) AS c, CAST('a' AS citext) AS i, CAST('a' AS VARCHAR(3)) AS v")
    assert [column.spelling for column in postgres.describe(texts)] == ["padded", "caseless", "exact"]


def test_a_domain_is_what_it_is_made_of(postgres: Engine) -> None:
    typed(postgres, exp.Command(this="CREATE DOMAIN positive AS integer CHECK (value > 0)"))
    domain = query(postgres, "SELECT CAST(4 AS positive) AS x")
    assert postgres.describe(domain) == (Column("x", "integer", "numeric"),)
    assert postgres.fetch(domain)["x"].tolist() == [4]


def test_an_enum_arrives_as_text(engine: Engine) -> None:
    run(engine, "CREATE TYPE mood AS ENUM ('bad', 'it''s')")
    moods = query(engine, "SELECT CAST('it''s' AS mood) AS m, 1 AS i UNION ALL SELECT NULL, NULL ORDER BY i NULLS LAST")
    rows = engine.fetch(moods)
    assert rows["m"].tolist() == ["it's", None]
    assert rows["i"][0] == 1
    assert np.isnan(rows["i"][1])


def test_an_array_column_arrives_as_lists(engine: Engine) -> None:
    text = (
        "SELECT CAST(ARRAY[1, 2] AS DOUBLE PRECISION[]) AS a UNION ALL SELECT CAST(ARRAY[3, 4] AS DOUBLE PRECISION[])"
    )
    rows = engine.fetch(query(engine, text))
    assert sorted(rows["a"].tolist()) == [[1.0, 2.0], [3.0, 4.0]]


def test_describing_reads_nothing(engine: Engine) -> None:
    run(engine, "CREATE TEMPORARY TABLE t AS SELECT 'no number' AS x")
    (column,) = engine.describe(query(engine, "SELECT CAST(x AS DOUBLE PRECISION) AS y FROM t ORDER BY 1"))
    assert column.kind == "numeric"


def test_describing_keeps_columns_of_one_name(engine: Engine) -> None:
    columns = engine.describe(query(engine, "SELECT 1 AS a, 'x' AS a"))
    assert [column.kind for column in columns] == ["numeric", "categorical"]


def test_texts_come_as_they_are_made(engine: Engine) -> None:
    """10^10 rows are not waited for, and a reader that has enough may stop."""
    many = "SELECT CAST(i AS TEXT) AS i FROM GENERATE_SERIES(1, 100000) AS a(i), GENERATE_SERIES(1, 100000) AS b(j)"
    rows = engine.texts(query(engine, many))
    assert len(list(islice(rows, 25_000))) == 25_000
    rows.close()
    assert engine.fetch(query(engine, "SELECT 1 AS x"))["x"].tolist() == [1]


def test_any_text_arrives(engine: Engine) -> None:
    texts = ["it's", "a\tb\nc\\d\re", "\\N", "", "ä€𝄞", None]
    run(engine, "CREATE TABLE t (n INT, s TEXT)")
    engine.copy_in(meant(engine, "t"), {"n": np.arange(6), "s": np.array(texts, dtype=object)})
    rows = engine.texts(query(engine, "SELECT s, s || '!' AS t FROM t ORDER BY n"))
    assert list(rows) == [(s, None if s is None else f"{s}!") for s in texts]


def test_texts_that_cannot_be_read(engine: Engine) -> None:
    with pytest.raises(StatementError, match="nowhere"):
        list(engine.texts(query(engine, "SELECT s FROM nowhere")))
    assert list(engine.texts(query(engine, "SELECT 'x' AS s"))) == [("x",)]


def test_copy_in_of_numbers(engine: Engine) -> None:
    run(engine, "CREATE TEMPORARY TABLE t (s SMALLINT, i INT, l BIGINT, r REAL, d DOUBLE PRECISION, b BOOLEAN)")
    columns = {
        "d": np.array([0.1, np.nan]),
        "s": np.array([1, -2], dtype=np.int8),
        "i": np.array([3.0, 4.0]),
        "l": np.array([2**62, 5]),
        "r": np.array([1, 2]),
        "b": np.array([True, False]),
    }
    engine.copy_in(meant(engine, "t"), columns)
    rows = engine.fetch(query(engine, "SELECT *, d IS NULL AS missing FROM t ORDER BY i"))
    assert {name: rows[name].tolist() for name in "silrb"} == {
        "s": [1, -2],
        "i": [3, 4],
        "l": [2**62, 5],
        "r": [1.0, 2.0],
        "b": [True, False],
    }
    assert rows["d"][0] == 0.1
    assert np.isnan(rows["d"][1])
    assert not rows["missing"].any()


def test_copy_in_of_objects(engine: Engine) -> None:
    run(engine, "CREATE TEMPORARY TABLE t (place INT, t TEXT, u UUID, n DECIMAL(10, 3), d DOUBLE PRECISION, i INT)")
    uuid = "00000000-0000-0000-0000-0000000000ff"
    columns = {
        "place": np.arange(4),
        "t": np.array(["tab\t\\N", None, "", "NULL"], dtype=object),
        "u": np.array([None, None, uuid, uuid], dtype=object),
        "n": np.array([0.5, 1, 2, 3]),
        "d": np.array([None, np.nan, 0.1, 1], dtype=object),
        "i": np.array([None, 1, 2, 3], dtype=object),
    }
    engine.copy_in(meant(engine, "t"), columns)
    rows = engine.fetch(query(engine, "SELECT *, d IS NULL AS missing FROM t ORDER BY place"))
    assert rows["t"].tolist() == ["tab\t\\N", None, "", "NULL"]
    assert rows["u"].tolist() == [None, None, uuid, uuid]
    assert rows["n"].tolist() == [0.5, 1, 2, 3]
    assert rows["missing"].tolist() == [True, False, False, False]
    assert rows["i"][1:].tolist() == [1, 2, 3]


@pytest.mark.parametrize(("type", "common", "rare"), [("TEXT", None, "found"), ("DOUBLE PRECISION", 1, 0.5)])
def test_copy_in_takes_the_type_from_all_rows(engine: Engine, type: str, common: object, rare: object) -> None:
    run(engine, f"CREATE TEMPORARY TABLE t (x {type})")
    values = np.full(5000, common, dtype=object)
    values[4321] = rare
    engine.copy_in(meant(engine, "t"), {"x": values})
    assert engine.fetch(query(engine, "SELECT x FROM t"))["x"].tolist().count(rare) == 1


def test_copy_in_of_nothing_does_nothing(engine: Engine) -> None:
    run(engine, "CREATE TEMPORARY TABLE t (x INT)")
    engine.copy_in(meant(engine, "t"), {"x": np.zeros(0)})
    engine.copy_in(meant(engine, "t"), {})
    assert engine.fetch(query(engine, "SELECT COUNT(*) AS n FROM t"))["n"].tolist() == [0]


@pytest.mark.parametrize("value", [np.nan, 3e9])
def test_copy_in_does_not_bend_a_number_into_an_integer(engine: Engine, value: float) -> None:
    run(engine, "CREATE TEMPORARY TABLE t (x INT)")
    with pytest.raises(EngineError):
        engine.copy_in(meant(engine, "t"), {"x": np.array([value])})
    assert engine.fetch(query(engine, "SELECT COUNT(*) AS n FROM t"))["n"].tolist() == [0]


def test_a_failed_statement_says_what_the_database_said(engine: Engine) -> None:
    with pytest.raises(StatementError, match="nope") as caught:
        engine.fetch(query(engine, "SELECT nope FROM (SELECT 1 AS nap) AS t"))
    assert caught.value.__cause__ is not None
    assert engine.fetch(query(engine, "SELECT 1 AS a"))["a"].tolist() == [1]


def test_a_failed_statement_keeps_sqlstate_detail_and_hint(postgres: Engine) -> None:
    raising = "RAISE EXCEPTION 'fact' USING DETAIL = 'more', HINT = 'do this', ERRCODE = 'SV001'"
    with pytest.raises(StatementError) as caught:
        typed(postgres, exp.Command(this=f"DO $$ BEGIN {raising}; END $$"))
    error = caught.value
    assert (error.message, error.detail, error.hint, error.kind) == ("fact", "more", "do this", None)
    assert isinstance(error.__cause__, psycopg.Error)
    assert error.__cause__.sqlstate == "SV001"


def test_a_working_table_is_kept_and_forgotten(engine: Engine) -> None:
    """PostgreSQL gathers no statistics of a temporary table by itself; DuckDB does."""
    sent: list[str] = []
    engine.on_statement = sent.append
    asked = parse_one("SELECT CAST($1 AS INT) AS x", read=engine.dialect)
    assert isinstance(asked, exp.Query)
    engine.keep("kept", asked, [3])
    assert engine.fetch(exp.select("x").from_("kept"))["x"].tolist() == [3]
    engine.forget("kept")
    analysed = ["ANALYZE kept"] if engine.dialect == "postgres" else []
    made = f"CREATE TEMPORARY TABLE kept AS {engine.text(asked)}"
    assert sent == [made, *analysed, "SELECT x FROM kept", "DROP TABLE IF EXISTS kept"]
    sent.clear()
    engine.keep("kept", engine.to_keep("kept", asked), [4])
    assert sent == [made, *analysed]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT * FROM nowhere", "no such name"),
        ("SELECT * FROM nowhere.t", "no such name"),
        ("CREATE TABLE t (x INT)", "exists"),
        ("CREATE VIEW t AS SELECT 1 AS x", "exists"),
        ("SELECT CAST(x AS INT) AS x FROM t", "value"),
        ("SELECT x + x FROM", None),
    ],
)
def test_an_error_says_what_kind_it_is(engine: Engine, statement: str, kind: Refusal | None) -> None:
    typed(engine, "CREATE TABLE t (x VARCHAR)")
    typed(engine, "INSERT INTO t VALUES ('one')")
    with pytest.raises(StatementError) as caught:
        typed(engine, statement)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT * FROM pg_authid", "denied"),
        ("CREATE TYPE mine AS (x INT)", "taken"),
        ("DROP TYPE mine", "depended on"),
    ],
)
def test_postgres_has_more_kinds(postgres: Engine, statement: str, kind: Refusal) -> None:
    for made in ("CREATE TYPE mine AS (x INT)", "CREATE TABLE t (x mine)", "CREATE ROLE stranger"):
        typed(postgres, made)
    try:
        if kind == "denied":
            postgres.execute(Text("SET ROLE stranger"))
        with pytest.raises(StatementError) as caught:
            typed(postgres, statement)
    finally:
        postgres.execute(Text("RESET ROLE"))
        typed(postgres, "DROP ROLE stranger")
    assert caught.value.kind == kind


def test_a_statement_that_the_dialect_lacks_is_not_rendered_halfway(postgres: Engine) -> None:
    with pytest.raises(EngineError, match="postgres cannot express"):
        postgres.text(parse_one("SELECT FIRST_VALUE(x IGNORE NULLS) OVER (ORDER BY y) FROM t", read="duckdb"))


def test_a_lost_connection_is_told(postgres: Engine, postgres_dsn: str) -> None:
    pid = postgres.fetch(query(postgres, "SELECT PG_BACKEND_PID() AS pid"))["pid"][0]
    with connect(postgres_dsn) as other:
        other.fetch(query(other, "SELECT PG_TERMINATE_BACKEND($1) AS done"), (int(pid),))
    with pytest.raises(EngineError, match="was lost"):
        postgres.fetch(query(postgres, "SELECT 1 AS a"))


def test_every_statement_is_recorded(engine: Engine, statements: list[str]) -> None:
    with engine.snapshot():
        typed(engine, parse_one("CREATE TEMPORARY TABLE t AS SELECT 1 AS a", read=engine.dialect))
        engine.fetch(exp.select("a").from_("t"))
    assert [text.split()[0] for text in statements] == ["BEGIN", "CREATE", "SELECT", "COMMIT"]
    assert statements[2] == "SELECT a FROM t"


def test_a_copy_is_recorded(engine: Engine, statements: list[str]) -> None:
    run(engine, "CREATE TEMPORARY TABLE t (x INT)")
    engine.copy_in(meant(engine, "t"), {"x": np.array([1])})
    assert statements[-1].split()[0] in ("COPY", "INSERT")


def test_a_snapshot_does_not_see_what_others_do_meanwhile(engine: Engine, postgres_dsn: str, tmp_path: Path) -> None:
    url = postgres_dsn if engine.dialect == "postgres" else f"duckdb:{tmp_path / 'shared.duckdb'}"
    count = "SELECT COUNT(*) AS n FROM t"
    with connect(url) as writer, connect(url) as reader:
        run(writer, "CREATE TABLE t AS SELECT 1 AS a")
        with reader.snapshot():
            before = asked(reader, count)["n"][0]
            run(writer, "INSERT INTO t SELECT 2")
            assert asked(reader, count)["n"][0] == before == 1
        assert asked(reader, count)["n"][0] == 2


def test_a_snapshot_leaves_nothing_behind_when_it_fails(engine: Engine, statements: list[str]) -> None:
    with pytest.raises(RuntimeError, match="ours"), engine.snapshot():  # noqa: PT012
        run(engine, "CREATE TABLE t AS SELECT 1 AS a")
        raise RuntimeError("ours")
    assert statements[-1] == "ROLLBACK"
    with pytest.raises(StatementError):
        engine.fetch(query(engine, "SELECT * FROM t"))


def test_a_snapshot_reports_the_first_error(engine: Engine) -> None:
    with pytest.raises(StatementError, match="nowhere"), engine.snapshot():
        engine.fetch(query(engine, "SELECT * FROM nowhere"))
    assert engine.fetch(query(engine, "SELECT 1 AS a"))["a"].tolist() == [1]


def test_a_snapshot_that_swallowed_an_error_does_not_pretend_to_commit(postgres: Engine) -> None:
    with pytest.raises(EngineError, match="rolled back"), postgres.snapshot():  # noqa: PT012
        run(postgres, "CREATE TABLE t AS SELECT 1 AS a")
        with pytest.raises(StatementError):
            postgres.fetch(query(postgres, "SELECT * FROM nowhere"))


def test_what_does_not_fit_into_memory_is_no_file_of_the_user(duckdb: Engine) -> None:
    place = duckdb.fetch(query(duckdb, "SELECT CURRENT_SETTING('temp_directory') AS place"))["place"][0]
    assert Path(place).parent == Path(tempfile.gettempdir())
    assert Path(place).stat().st_mode & 0o777 == 0o700, "rows of the user's tables go there"
    duckdb.close()
    assert not Path(place).exists()


def test_snapshots_do_not_nest(engine: Engine) -> None:
    with engine.snapshot(), pytest.raises(EngineError, match="already open"), engine.snapshot():
        pass


@pytest.mark.parametrize("name", ["Abc", "ÄBC", "x" * 62 + "ää", "ä" * 40, "Δ" * 31 + "z€"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_name_folds_as_the_database_folds_it(engine: Engine, name: str, quoted: bool) -> None:
    alias = exp.alias_(exp.Literal.number(1), exp.to_identifier(name, quoted=quoted))
    (column,) = engine.describe(exp.select(alias))
    assert engine.fold(name, quoted) == engine.fold(column.name, True)
    if engine.dialect == "postgres":
        assert engine.fold(name, quoted) == column.name


def test_duckdb_folds_quoted_names_as_well(duckdb: Engine) -> None:
    run(duckdb, 'CREATE TABLE t AS SELECT 1 AS "Abc"')
    assert duckdb.fetch(query(duckdb, 'SELECT "aBC" FROM t'))
    assert duckdb.fold("Abc", True) == duckdb.fold("aBC", True)


def test_the_url_does_not_hold_the_password(postgres_dsn: str) -> None:
    with connect(f"{postgres_dsn} password=secret") as engine:
        assert engine.url.startswith("postgresql://")
        assert "secret" not in engine.url
        with connect(engine.url) as again:
            assert again.url == engine.url


def test_the_session_says_who_it_is_and_compiles_long_statements_only(postgres: Engine) -> None:
    text = "SELECT CURRENT_SETTING('application_name') AS name, CURRENT_SETTING('jit_above_cost') AS cost"
    rows = postgres.fetch(query(postgres, text))
    assert (rows["name"][0], float(rows["cost"][0])) == ("sqlsvm", 3e6)
    assert postgres.version.startswith("PostgreSQL ")


def test_a_session_is_set_up_in_few_messages(postgres_dsn: str, tmp_path: Path) -> None:
    """To a server far away each takes long: one for the path, one for the process, one for all settings."""
    with Postgres(postgres_dsn) as engine, (tmp_path / "sent").open("w+") as sent:
        engine._connection.pgconn.trace(sent.fileno())
        engine._set_up()
        engine._connection.pgconn.untrace()
        sent.seek(0)
        assert sum("\tSync" in line or "\tQuery\t" in line for line in sent) == 3


def test_the_text_of_a_value_is_the_same_in_each_session(postgres_dsn: str) -> None:
    text = "SELECT (0.1::float8 + 0.2)::text AS f, '03/02/2024'::date::text AS d, '-1 day 2:00'::interval::text AS i"
    odd = "-c extra_float_digits=-15 -c DateStyle=German,DMY -c IntervalStyle=sql_standard"
    with connect(f"{postgres_dsn} options='{odd}'") as engine:
        rows = engine.fetch(Text(text))
    assert [rows[name][0] for name in "fdi"] == ["0.30000000000000004", "2024-02-03", "-1 days +02:00:00"]


@pytest.mark.parametrize("pooled", [False, True])
def test_ctrl_c_leaves_no_statement_without_its_answer(postgres_dsn: str, pooled: bool) -> None:
    """Behind a pooler the statement has a transaction, which ends with ROLLBACK."""

    def interrupted(engine: Postgres) -> None:
        engine._pooled = pooled
        with engine._driver_errors(), engine._settled(), engine._answered():
            engine._connection.pgconn.send_query(b"SELECT pg_sleep(60)")
            raise KeyboardInterrupt

    with Postgres(postgres_dsn) as engine:
        with pytest.raises(KeyboardInterrupt):
            interrupted(engine)
        assert engine.fetch(Text("SELECT 1 AS a"))["a"][0] == 1


def test_an_unknown_database_is_named(postgres_server: str) -> None:
    with pytest.raises(EngineError, match="no_such_database") as caught:
        connect(f"{postgres_server} dbname=no_such_database")
    assert "createdb" in str(caught.value.hint)


def test_a_closed_engine_says_so(engine: Engine) -> None:
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match=r"closed|lost"):
        engine.fetch(query(engine, "SELECT 1 AS a"))


def test_duckdb_does_not_reach_for_the_internet(duckdb: Engine) -> None:
    with pytest.raises(StatementError):
        duckdb.fetch(query(duckdb, "SELECT * FROM 'https://localhost:1/x.parquet'"))


THINNED = {
    "heap": ("CREATE TABLE t (x INT)", True),
    "temporary": ("CREATE TEMPORARY TABLE t (x INT)", True),
    "materialised": ("CREATE MATERIALIZED VIEW t AS SELECT 1 AS x", True),
    "partitioned": ("CREATE TABLE t (x INT) PARTITION BY LIST (x); CREATE TABLE p PARTITION OF t DEFAULT", False),
    "hidden": ("CREATE TABLE t (x INT); CREATE TEMPORARY VIEW t AS SELECT 1 AS x", False),
    "view": ("CREATE VIEW t AS SELECT 1 AS x", False),
    "inherited from": ("CREATE TABLE t (x INT); CREATE TABLE c () INHERITS (t)", False),
    "not there": ("CREATE TABLE u (x INT)", False),
}


@pytest.mark.parametrize("kind", THINNED)
def test_what_postgres_thins(postgres: Engine, kind: str) -> None:
    """And that it does: with the share 1 every row stays."""
    script, thins = THINNED[kind]
    for statement in script.split("; "):
        typed(postgres, statement)
    assert postgres.thins(meant(postgres, "t")) == thins
    if thins:
        asked(postgres, "SELECT x FROM t TABLESAMPLE BERNOULLI (100) REPEATABLE (1)")


def test_keys_are_those_of_the_table_that_is_meant(postgres: Engine) -> None:
    """Spelled in capitals it is the same; and a table called like a working table says nothing of ours."""
    typed(postgres, "CREATE TABLE fact (id INT PRIMARY KEY)")
    typed(postgres, "CREATE TABLE sqlsvm_part (id INT PRIMARY KEY)")
    tables = [meant(postgres, "FACT"), meant(postgres, '"sqlsvm_part"'), exp.to_table("nowhere")]
    assert postgres.unique_keys(tables) == [[frozenset({"id"})], [frozenset({"id"})], []]
    postgres.suffix = "_0"
    assert postgres.unique_keys([exp.to_table("sqlsvm_part")]) == [[]]


def test_what_duckdb_thins(duckdb: Engine) -> None:
    """By the number of a row, which a view does not have, and which a column may hide."""
    run(duckdb, "CREATE TABLE t (x INT)")
    run(duckdb, "CREATE VIEW v AS SELECT x FROM t")
    run(duckdb, "CREATE TABLE hiding (x INT, RowId INT)")
    assert [duckdb.thins(exp.to_table(name)) for name in ("t", "v", "hiding", "nowhere")] == [True, False, False, False]


# -- hints -------------------------------------------------------------------------------------------------------------


def hint_of(engine: Engine, text: str) -> str:
    with pytest.raises(StatementError) as refused:
        typed(engine, text)
    return str(refused.value.hint)


def test_a_session_that_may_only_read(postgres: Engine) -> None:
    postgres.execute(Text("SET default_transaction_read_only = on"))
    assert "add no_temp=True or offload=True" in hint_of(postgres, "CREATE TABLE t (x INT)")


@pytest.mark.parametrize("library", ["$libdir/plnothing", "/no/such/folder/plnothing.so", "/dev/null"])
def test_a_server_whose_library_is_missing(postgres: Engine, library: str) -> None:
    """As where a package of the server is not fully there, and a language cannot be loaded."""
    with pytest.raises(StatementError) as refused:
        postgres.execute(Text(f"CREATE FUNCTION lost(x INT) RETURNS INT LANGUAGE c AS '{library}', 'lost'"))
    assert refused.value.message.startswith("could not ")
    assert str(refused.value.hint).startswith("the fault is in the server or its installation, not in the query")
    assert refused.value.kind is None


def test_rights_that_are_missing(postgres: Engine, prefix: str) -> None:
    """And a name that is right is no typo."""
    role = f"{prefix}_stranger"
    run(postgres, "CREATE TABLE t (x INT); CREATE SCHEMA s; CREATE TABLE s.t (x INT)")
    postgres.execute(
        Text("DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$")
    )
    typed(postgres, f"CREATE ROLE {role}")
    try:
        postgres.execute(Text(f"SET ROLE {role}"))
        assert hint_of(postgres, "SELECT x FROM t").startswith("its owner can GRANT what is missing ON t TO ")
        assert hint_of(postgres, "SELECT x FROM s.t").startswith("its owner can GRANT what is missing ON schema s TO ")
        assert hint_of(postgres, "CREATE TEMPORARY TABLE u (x INT)").startswith(
            "add no_temp=True, or its owner types: GRANT TEMPORARY ON"
        )
        with pytest.raises(QueryError, match="cannot read t: permission denied for table t") as refused:
            read_query(postgres, "SELECT x FROM t")
        assert str(refused.value.hint).startswith("its owner can GRANT")
    finally:
        postgres.execute(Text("RESET ROLE"))
        typed(postgres, f"DROP ROLE {role}")
