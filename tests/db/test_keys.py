"""Keys of two types: refused where they group otherwise than they compare, and counted where they do not."""

import re

import numpy as np
import pytest

from sqlsvm.ask.inspect import inspect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import DataError, QueryError, SqlsvmError
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import read_query
from sqlsvm.run.opening import labelled
from sqlsvm.run.workspace import workspace
from tests.ground.opened import Wish, build, opened
from tests.typed import typed

pytestmark = pytest.mark.twin

JOIN = "SELECT y, x, z FROM f JOIN d ON f.k = d.k"
HUGE = "9007199254740992, 9007199254740993, 5"


def tables(engine: Engine, ours: str, theirs: str, values: str, own: str = "") -> None:
    """f (k, y, x) has each of the values twice, or else its own ones; d (k, z) has each once."""
    build(engine, f"CREATE TABLE f (k {ours}, y INT, x INT); CREATE TABLE d (k {theirs}, z INT)")
    for n, value in enumerate((own or values).split(", ")):
        typed(engine, f"INSERT INTO f VALUES ({value}, 0, {n % 3}), ({value}, 1, {n % 2})")
    for n, value in enumerate(values.split(", ")):
        typed(engine, f"INSERT INTO d VALUES ({value}, {n})")


def refused(engine: Engine, kind: type[SqlsvmError]) -> SqlsvmError:
    """By training, and by inspect: it would count these as wrongly."""
    with pytest.raises(kind) as found:
        planned(Facts(engine), labelled(engine, JOIN, ProblemOptions("y")), ProblemOptions("y"))
    with pytest.raises(kind, match=re.escape(found.value.message)):
        inspect(engine, JOIN, label="y")
    return found.value


def assert_counted(engine: Engine, text: str, rows: int) -> None:
    planned(Facts(engine), labelled(engine, text, ProblemOptions("y")), ProblemOptions("y"))
    with workspace(engine) as work:
        found = opened(work, text, Wish())
        assert found.problem.moments.n == len(found.truth.y) == rows
        for beta in np.random.default_rng(0).normal(size=(3, 3)):
            cut, hinge = found.cut(beta), found.hinge(beta)
            assert cut.offset == pytest.approx(hinge.b, rel=1e-12)
            np.testing.assert_allclose(cut.slope, hinge.a, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("theirs", "named"), [("TEXT", "text"), ("VARCHAR(1)", "character varying(1)")])
def test_citext_is_one_text_and_two_others(postgres: Engine, theirs: str, named: str) -> None:
    """And so the hint says text, as PostgreSQL would compare them, which cuts nothing off."""
    typed(postgres, "CREATE EXTENSION citext")
    tables(postgres, "CITEXT", theirs, "'a', 'A', 'b'", own="'a', 'A', 'b', 'B', 'ab'")
    error = refused(postgres, QueryError)
    assert error.message == f'the keys "f"."k" and "d"."k" are public.citext and {named}'
    assert error.hint == 'compare them as one type: CAST("f"."k" AS text) = "d"."k"'
    assert_counted(postgres, 'SELECT y, x, z FROM f JOIN d ON CAST("f"."k" AS text) = "d"."k"', 6)


def test_citext_alone_is_counted(postgres: Engine) -> None:
    typed(postgres, "CREATE EXTENSION citext")
    tables(postgres, "CITEXT", "CITEXT", "'a', 'b'", own="'a', 'A', 'b', 'B', 'ab'")
    assert_counted(postgres, JOIN, 8)


CASELESS = "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"


@pytest.mark.twin(False)
@pytest.mark.parametrize("other", ["TEXT", 'TEXT COLLATE "C"'])
@pytest.mark.parametrize("turned", [False, True])
def test_a_collation_that_takes_texts_for_one_another_is_refused_beside_one_that_does_not(
    engine: Engine, other: str, turned: bool
) -> None:
    """The order in which the two are named decides only where no collation is written."""
    if engine.dialect == "duckdb":
        collation, other = "NOCASE", other.replace('"C"', "POSIX")
    else:
        collation = "public.caseless"
        typed(engine, CASELESS)
    kinds = [f"TEXT COLLATE {collation}", other]
    ours, theirs = reversed(kinds) if turned else kinds
    tables(engine, ours, theirs, "'a', 'A', 'b'", own="'a', 'A', 'b', 'B', 'ab'")
    error = refused(engine, QueryError)
    blurred, plain = ("d", "f") if turned else ("f", "d")
    type = "VARCHAR" if engine.dialect == "duckdb" else "text"
    assert error.message == f'the keys "{blurred}"."k" and "{plain}"."k" are {type} COLLATE {collation} and {type}'
    condition = f'"{blurred}"."k" COLLATE {collation} = "{plain}"."k" COLLATE {collation}'
    assert error.hint == f"compare them under one collation: {condition}"
    assert_counted(engine, f"SELECT y, x, z FROM f JOIN d ON {condition}", 12)


@pytest.mark.twin(False)
def test_collations_of_one_kind_are_counted(engine: Engine) -> None:
    collation = "NOCASE" if engine.dialect == "duckdb" else "caseless"
    if engine.dialect == "postgres":
        typed(engine, CASELESS)
    tables(engine, f"TEXT COLLATE {collation}", f"TEXT COLLATE {collation}", "'a', 'b'", own="'a', 'A', 'b', 'B', 'ab'")
    assert_counted(engine, JOIN, 8)


def test_collations_that_only_sort_are_nothing_to_us(postgres: Engine) -> None:
    tables(postgres, 'TEXT COLLATE "POSIX"', "VARCHAR", "'a', 'A', 'b'", own="'a', 'A', 'b', 'B', 'ab'")
    assert_counted(postgres, JOIN, 6)


@pytest.mark.parametrize(("collation", "values"), [("NOACCENT", "'e', '\u00e9'"), ("de", "'\u00e9', 'e\u0301'")])
def test_what_else_duckdb_takes_for_one(duckdb: Engine, collation: str, values: str) -> None:
    tables(duckdb, f"TEXT COLLATE {collation}", "TEXT", values)
    error = refused(duckdb, QueryError)
    assert_counted(duckdb, f"SELECT y, x, z FROM f JOIN d ON {str(error.hint).rpartition(': ')[2]}", 8)


def test_an_index_that_compares_otherwise_says_nothing_of_a_key(postgres: Engine) -> None:
    """'a' and 'A' are two in the index, and one in the join."""
    typed(postgres, CASELESS)
    tables(postgres, "TEXT COLLATE caseless", "TEXT COLLATE caseless", "'a', 'A', 'b'", own="'a', 'A', 'b', 'B', 'ab'")
    typed(postgres, 'CREATE UNIQUE INDEX ON d (k COLLATE "C")')
    assert_counted(postgres, JOIN, 12)


@pytest.mark.twin(False)
def test_categories_that_a_collation_takes_for_one_another(engine: Engine) -> None:
    collation = "NOCASE" if engine.dialect == "duckdb" else "caseless"
    if engine.dialect == "postgres":
        typed(engine, CASELESS)
    build(engine, f"CREATE TABLE f (y INT, x INT, t TEXT COLLATE {collation})")
    typed(engine, "INSERT INTO f VALUES (0, 1, 'a'), (1, 2, 'A'), (1, 3, 'b')")
    with pytest.raises(
        DataError, match=rf"categories of t are compared under COLLATE (public\.)?{collation}"
    ) as refused:
        planned(Facts(engine), labelled(engine, "SELECT y, x, t FROM f", ProblemOptions("y")), ProblemOptions("y"))
    assert refused.value.hint
    wanted = 'lower("f"."t") COLLATE "C" AS t'
    assert wanted in refused.value.hint
    problem, _ = planned(
        Facts(engine), labelled(engine, f"SELECT y, x, {wanted} FROM f", ProblemOptions("y")), ProblemOptions("y")
    )
    assert problem.design.dictionaries[0].categories == ("a", "b")


def test_duckdb_compares_rows_as_structs(duckdb: Engine) -> None:
    """NULL equals NULL in them, which no join on their parts knows."""
    build(duckdb, "CREATE TABLE f (y INT, k INT, l INT, x INT); CREATE TABLE d (k INT, l INT, z INT)")
    duckdb.execute(Text("INSERT INTO f VALUES (1, 1, NULL, 1), (0, 1, NULL, 2), (1, 1, 1, 3), (0, 1, 1, 4)"))
    duckdb.execute(Text("INSERT INTO d VALUES (1, NULL, 1), (1, NULL, 2), (1, 1, 3)"))
    text = "SELECT y, x, z FROM f JOIN d ON (f.k, f.l) = (d.k, d.l)"
    (whole,) = read_query(duckdb, text).relations
    assert whole.once
    assert whole.once.reason.startswith("a join on structs, which matches NULL with NULL")
    assert whole.once.hint == "write f.k = d.k AND f.l = d.l"
    assert_counted(duckdb, text, 6)
    assert_counted(duckdb, "SELECT y, x, z FROM f JOIN d ON f.k = d.k WHERE (f.k, f.l) = (1, NULL)", 6)


@pytest.mark.parametrize(
    ("ours", "theirs", "values"),
    [
        ("DOUBLE PRECISION", "BIGINT", HUGE),
        ("BIGINT", "DOUBLE PRECISION", HUGE),
        ("DOUBLE PRECISION", "DECIMAL(38, 20)", "1, 1.00000000000000000001, 5"),
    ],
)
def test_numbers_that_are_rounded_to_the_same_are_refused(engine: Engine, ours: str, theirs: str, values: str) -> None:
    tables(engine, ours, theirs, values)
    error = refused(engine, DataError)
    exact = "d" if ours == "DOUBLE PRECISION" else "f"
    rounded = "DOUBLE" if engine.dialect == "duckdb" else "double precision"
    assert error.message.startswith(f'the keys "{exact}"."k" and ')
    assert f"compared as {rounded}" in str(error.detail)
    assert f'CAST("{exact}"."k" AS {rounded}) = ' in str(error.hint)


def test_the_hint_counts_them_as_the_join_does(engine: Engine) -> None:
    """Then two rows have one key, and that is no foreign key."""
    tables(engine, "DOUBLE PRECISION", "BIGINT", HUGE)
    cast = "DOUBLE" if engine.dialect == "duckdb" else "double precision"
    assert_counted(engine, f"SELECT y, x, z FROM f JOIN d ON f.k = CAST(d.k AS {cast})", 10)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("DOUBLE PRECISION", "INT"),
        ("DOUBLE PRECISION", "BIGINT"),
        ("REAL", "DECIMAL(8, 2)"),
        ("BIGINT", "DECIMAL(8, 2)"),
    ],
)
def test_other_numbers_are_counted(engine: Engine, ours: str, theirs: str) -> None:
    tables(engine, ours, theirs, "1, 2, 5", own="1, 2, 2, 3")
    assert_counted(engine, JOIN, 6)


def test_a_float_makes_floats_of_whole_numbers(duckdb: Engine) -> None:
    tables(duckdb, "REAL", "INT", "16777216, 16777217")
    assert "compared as FLOAT" in str(refused(duckdb, DataError).detail)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("CHAR(3)", "VARCHAR(3)"), ("VARCHAR(5)", "CHAR(3)"), ("VARCHAR", "BPCHAR")]
)
def test_blanks_at_the_end_count_in_a_varying_text_only(postgres: Engine, ours: str, theirs: str) -> None:
    tables(postgres, ours, theirs, "'CA', 'CA ', 'b'")
    error = refused(postgres, DataError)
    varying, padded = ("f", "d") if ours.startswith("VARCHAR") else ("d", "f")
    assert error.message.startswith(f'the keys "{varying}"."k" and "{padded}"."k" are character varying')
    assert "compared as bpchar" in str(error.detail)
    assert error.hint == f'compare them as one type: CAST("{varying}"."k" AS bpchar) = "{padded}"."k"'
    assert_counted(postgres, f'SELECT y, x, z FROM f JOIN d ON CAST("{varying}"."k" AS bpchar) = "{padded}"."k"', 10)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("CHAR(3)", "VARCHAR(3)"), ("VARCHAR", "CHAR(3)"), ("CHAR(3)", "CHAR(5)"), ("CHAR(3)", "TEXT")]
)
def test_texts_without_blanks_at_the_end_are_counted(postgres: Engine, ours: str, theirs: str) -> None:
    tables(postgres, ours, theirs, "'a', 'b', ' b'", own="'a', 'b', 'b', 'c'")
    assert_counted(postgres, JOIN, 6)


def test_blanks_at_the_end_count_beside_a_text(postgres: Engine) -> None:
    """What is padded is compared as text then, without its blanks, and so 'b ' meets nothing."""
    tables(postgres, "CHAR(3)", "TEXT", "'a', 'b', 'b '", own="'a', 'b', 'b', 'c'")
    assert_counted(postgres, JOIN, 6)


def test_an_hour_that_clocks_leave_out(postgres: Engine) -> None:
    """Of a time without a zone it is the hour after it, with one."""
    postgres.execute(Text("SET TIME ZONE 'Europe/Berlin'"))
    tables(postgres, "TIMESTAMP", "TIMESTAMPTZ", "'2024-03-31 02:30', '2024-03-31 03:30', '2024-06-01 00:00'")
    error = refused(postgres, DataError)
    assert error.message == (
        'the keys "f"."k" and "d"."k" are timestamp without time zone and timestamp with time zone'
    )
    assert error.hint == 'compare them as one type: CAST("f"."k" AS timestamp with time zone) = "d"."k"'
    assert_counted(postgres, JOIN.replace("f.k", "CAST(f.k AS timestamp with time zone)"), 10)


def test_times_that_are_different_with_a_zone_are_counted(postgres: Engine) -> None:
    postgres.execute(Text("SET TIME ZONE 'Europe/Berlin'"))
    tables(postgres, "TIMESTAMP(0)", "TIMESTAMPTZ", "'2024-03-31 03:30', '2024-06-01 00:00', '2024-06-02 00:00'")
    assert_counted(postgres, JOIN, 6)


SPELLINGS = {
    "numbers": ("INT", "'1', '01', '2'", "INTEGER"),
    "truths": ("BOOLEAN", "'t', 'true', 'f'", "BOOLEAN"),
    "dates": ("DATE", "'2024-01-01', '2024-1-1', '2024-02-01'", "DATE"),
    "reals": ("DOUBLE", "'0.5', '5e-1', '2'", "DOUBLE"),
    "instants": (
        "TIMESTAMPTZ",
        "'2024-01-01 00:00:00+00', '2024-01-01 01:00:00+01', '2024-02-01 00:00:00+00'",
        "TIMESTAMP WITH TIME ZONE",
    ),
}
"""Of DuckDB, which converts a text to the type that it is compared with: three texts, of which two are one value."""


@pytest.mark.parametrize("kind", SPELLINGS)
def test_texts_that_are_one_value_beside_another_type(duckdb: Engine, kind: str) -> None:
    other, texts, named = SPELLINGS[kind]
    first, _, last = texts.split(", ")
    duckdb.execute(Text("SET TimeZone = 'UTC'"))
    tables(duckdb, "VARCHAR", other, f"{first}, {last}", own=texts)
    error = refused(duckdb, DataError)
    assert error.message == f'the keys "f"."k" and "d"."k" are VARCHAR and {named}'
    assert error.hint == f'compare them as one type: CAST("f"."k" AS {named}) = "d"."k"'
    assert_counted(duckdb, JOIN.replace("f.k", f"CAST(f.k AS {named})"), 6)


def test_texts_that_are_other_values_beside_another_type_are_counted(duckdb: Engine) -> None:
    tables(duckdb, "VARCHAR", "INT", "'1', '2', '3'")
    assert_counted(duckdb, JOIN, 6)


def test_texts_of_three_types_are_counted(duckdb: Engine) -> None:
    duckdb.execute(Text("CREATE TYPE letter AS ENUM ('a', 'b', 'c')"))
    tables(duckdb, "letter", "VARCHAR", "'a', 'b', 'c'")
    assert_counted(duckdb, JOIN, 6)


def test_words_that_are_one_number(duckdb: Engine) -> None:
    duckdb.execute(Text("CREATE TYPE digit AS ENUM ('1', '01', '2')"))
    tables(duckdb, "digit", "INT", "'1', '2'", own="'1', '01', '2'")
    assert "and \"d\".\"k\" are ENUM('1', '01', '2') and INTEGER" in refused(duckdb, DataError).message


def test_an_hour_that_clocks_leave_out_in_duckdb(duckdb: Engine) -> None:
    duckdb.execute(Text("SET TimeZone = 'Europe/Berlin'"))
    tables(duckdb, "TIMESTAMP", "TIMESTAMPTZ", "'2024-03-31 02:30', '2024-03-31 03:30', '2024-06-01 00:00'")
    assert "are TIMESTAMP and TIMESTAMP WITH TIME ZONE" in refused(duckdb, DataError).message


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN"])
def test_a_key_of_several_fields(postgres: Engine, join: str) -> None:
    """ROW(1, NULL) equals itself, and both it IS NULL and it IS NOT NULL are false."""
    build(
        postgres,
        "CREATE TYPE pair AS (a INT, b TEXT); CREATE TABLE f (k pair, y INT, x INT); CREATE TABLE d (k pair, z INT)",
    )
    text = JOIN.replace("JOIN", join)
    with pytest.raises(QueryError, match=r"is of the composite type public\.pair") as found:
        planned(Facts(postgres), labelled(postgres, text, ProblemOptions("y")), ProblemOptions("y"))
    assert "join on its fields" in str(found.value.hint)
