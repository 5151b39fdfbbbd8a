"""Everything that a feature query must not say: the message states the fact, the hint says what to write instead."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlsvm.errors import FormError, QueryError, SqlsvmError
from sqlsvm.query import parse
from tests.unit.queries import Case, cases, read


@pytest.mark.parametrize("case", cases("query_refused.txt"), ids=str)
def test_refused(case: Case) -> None:
    with pytest.raises(QueryError) as refused:
        read(case.text, case.dialect)
    hint = [f"hint: {refused.value.hint}"] if refused.value.hint else []
    assert [refused.value.message, *hint] == case.expected


@pytest.mark.parametrize("case", cases("query_made.txt"), ids=str)
def test_made(case: Case) -> None:
    """What is no plain join, why, and what to write instead if its rows are too many."""
    try:
        once = next(r.once for r in read(case.text, case.dialect).relations if r.once)
        reason, hint = once.reason, once.hint
    except FormError as error:
        reason, hint = error.message, error.hint
    assert [reason, *([f"hint: {hint}"] if hint else [])] == case.expected


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"label": "mont"}, "label: the query has no column mont", "did you mean month?"),
        ({"label": "zzz"}, "label: the query has no column zzz", "there are month, year"),
        ({"weight": "yeer"}, "weight: the query has no column yeer", "did you mean year?"),
        ({"categorical": ["x"]}, "categorical: the query has no column x", "there are month, year"),
        ({"label": "year", "weight": "YEAR"}, "year is both label and weight", "name two columns"),
        (
            {"label": "year", "weight": "month"},
            "the query returns no feature",
            "select at least one column besides label and weight",
        ),
    ],
)
def test_refused_roles(arguments: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(SqlsvmError) as refused:
        read("SELECT month, year FROM flights", **arguments)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_syntax_error_has_a_place_and_no_colour() -> None:
    with pytest.raises(QueryError) as refused:
        parse("SELECT month,\n  yaer FORM flights f", "postgres")
    assert str(refused.value) == "syntax error at line 2, column 13, near flights f"


def test_too_deep() -> None:
    with pytest.raises(QueryError, match="nested too deeply"):
        parse(f"SELECT {'(' * 3000}month{')' * 3000} FROM flights", "postgres")


def test_two_columns_of_one_name_in_one_relation() -> None:
    with pytest.raises(QueryError) as refused:
        read("SELECT s.a FROM (SELECT 1 AS a, 2 AS a) s", tables={"s": ["a", "a"]})
    assert str(refused.value) == (
        "column s.a is ambiguous: it is in s and s\nHINT: give the columns of s different names"
    )


def test_long_fragments_are_cut() -> None:
    (relation,) = read(f"SELECT sum(month{' + month' * 99}) FROM flights").relations
    assert relation.once
    assert len(relation.once.reason) < 140


@pytest.mark.parametrize("text", ["", " ", ";", "-- nothing", "/* nothing */ ;;"])
def test_empty(text: str) -> None:
    with pytest.raises(QueryError, match="the query is empty"):
        parse(text, "postgres")


WORDS = (
    "SELECT FROM WHERE JOIN LEFT ON USING ( ) , . * = < AND OR NOT NULL a b k t u \"x y\" 's' 1 2.5 AS + - / || :: int"
    " CASE WHEN THEN ELSE END IN BETWEEN LIKE EXTRACT INTERVAL f( WITH UNION LATERAL VALUES [ ] { } -> ->> ~ $1 ? : ;"
    " -- /* */ EXISTS OVER GROUP BY LIMIT NATURAL PIVOT QUALIFY EXCLUDE COLUMNS TABLE FOR UPDATE INTO DISTINCT @ # !"
)
PIECES = st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join)


@pytest.mark.parametrize("text", ["SELECT a FROM t WHERE ->", "SELECT a -> FROM t", "SELECT -> FROM t"])
@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
def test_a_missing_operand_is_a_syntax_error(text: str, dialect: str) -> None:
    """The compiled build of sqlglot has an error of its own for some of these."""
    with pytest.raises(QueryError, match="syntax error"):
        parse(text, dialect)


@settings(database=None)
@given(
    text=st.one_of(
        st.text(max_size=20),
        PIECES,
        PIECES.map("SELECT a FROM t {}".format),
        PIECES.map("SELECT a FROM t WHERE {}".format),
        PIECES.map("SELECT {} FROM t".format),
    ),
    dialect=st.sampled_from(["postgres", "duckdb"]),
)
def test_any_text_is_read_or_refused(text: str, dialect: str) -> None:
    with suppress(QueryError):
        read(text, dialect)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"SELECT t0.x FROM t0 {' '.join(f'JOIN t{i} USING (k)' for i in range(1, 2001))}",
            "the query reads 2,001 tables, and at most 2,000 are planned for",
        ),
        (
            f"SELECT {', '.join(f'x{i}' for i in range(20_101))} FROM t",
            "the query returns 20,001 features, and at most 20,000 are planned for",
        ),
    ],
    ids=("tables", "columns"),
)
def test_refused_sizes(text: str, message: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse(text, "postgres")
    assert refused.value.message == message
