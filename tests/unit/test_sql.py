"""The words of SQL: what they say, and that they leave what they are given as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from sqlsvm import sql


def text(node: exp.Expr) -> str:
    return node.sql("postgres")


def base() -> exp.Select:
    return sql.select([(sql.column("a"), "a")], exp.to_table("t"))


def test_select() -> None:
    assert text(base()) == "SELECT a AS a FROM t"
    assert text(sql.select([(sql.integer(1), "one")])) == "SELECT 1 AS one"


@pytest.mark.parametrize(
    ("kind", "keys", "expected"),
    [
        ("", "", "CROSS JOIN u"),
        ("", "k", "JOIN u ON k = k"),
        ("left", "k", "LEFT JOIN u ON k = k"),
        ("left", "", "LEFT JOIN u ON TRUE"),
        ("full", "kl", "FULL JOIN u ON k = k AND l = l"),
    ],
)
def test_join(kind: str, keys: str, expected: str) -> None:
    on = [sql.equal(sql.column(k), sql.column(k)) for k in keys]
    joined = sql.join(base(), exp.to_table("u"), on, kind)
    assert text(joined) == f"SELECT a AS a FROM t {expected}"
    assert text(parse_one(text(joined), read="postgres")) == text(joined)


def test_what_is_added_to_stays_as_it_was() -> None:
    start = base()
    once = sql.join(start, exp.to_table("u"), [])
    twice = sql.join(once, exp.to_table("v"), [])
    grouped = sql.group(once, [sql.column("a")])
    assert text(start) == "SELECT a AS a FROM t"
    assert text(once) == "SELECT a AS a FROM t CROSS JOIN u"
    assert text(twice) == "SELECT a AS a FROM t CROSS JOIN u CROSS JOIN v"
    assert text(grouped) == "SELECT a AS a FROM t CROSS JOIN u GROUP BY a"


def test_a_node_may_be_used_twice() -> None:
    a = sql.column("a")
    assert text(sql.case(sql.is_null(a), a, sql.product(a, a))) == "CASE WHEN a IS NULL THEN a ELSE a * a END"


def test_operands_keep_together() -> None:
    a, b, c = (sql.column(n) for n in "abc")
    assert text(sql.product(a, sql.plus(b, c))) == "a * (b + c)"
    assert text(sql.plus(a, sql.plus(b, c))) == "a + (b + c)"
    either = exp.Or(this=a, expression=b)
    assert text(sql.every([either, c])) == "(a OR b) AND c"
    assert text(sql.equal(either, exp.Not(this=c))) == "(a OR b) = (NOT c)"
    assert text(sql.equal(exp.GT(this=a, expression=b), sql.plus(a, b))) == "(a > b) = a + b"


def test_nothing_is_neutral() -> None:
    assert text(sql.every([])) == "TRUE"
    assert text(sql.product()) == "CAST(1.0 AS DOUBLE PRECISION)"
    assert text(sql.plus()) == "CAST(0.0 AS DOUBLE PRECISION)"


@pytest.mark.parametrize("value", [0.1, -2.5, 1e300, 5e-324, 3.0])
def test_numbers_keep_every_bit(value: float) -> None:
    cast = sql.number(value)
    assert isinstance(cast, exp.Cast)
    assert float(text(cast.this)) == value


def test_working_tables() -> None:
    assert text(sql.temporary("w", base())) == "CREATE TEMPORARY TABLE w AS SELECT a AS a FROM t"
    assert text(sql.analyse("w")) == "ANALYZE w"
    assert text(sql.drop("w")) == "DROP TABLE IF EXISTS w"


def test_groups_are_made_of_plain_columns_and_equal_keys() -> None:
    source = sql.join(sql.select([], sql.table("a", "l")), sql.table("b", "r"), sql.same(["k", "m"], "l", "r"))
    assert source.sql("postgres").endswith("AS r ON l.k = r.k AND l.m = r.m")
    made = sql.grouped(sql.columns(["k", "m"], "t"), [(sql.total(sql.column("w")), "c")], sql.table("a", "t"))
    assert made.sql("postgres") == "SELECT t.k AS k, t.m AS m, SUM(w) AS c FROM a AS t GROUP BY t.k, t.m"
    assert "GROUP BY" not in sql.grouped([], [(sql.count(), "n")], sql.table("a", "t")).sql("postgres")


PAIRS = (sql.product, sql.plus, sql.minus, sql.ratio, sql.less, sql.at_least, sql.equal)
OPERANDS = st.one_of(st.sampled_from(["a", "r.b"]), st.integers(0, 9), st.floats(0.0, 9.0))


def grown(inner: st.SearchStrategy[sql.Operand]) -> st.SearchStrategy[sql.Operand]:
    pairs = st.builds(lambda made, one, other: made(one, other), st.sampled_from(PAIRS), inner, inner)
    return pairs | st.builds(lambda one, other: sql.every([sql.positive(one), sql.less(other, 1)]), inner, inner)


def bare(node: object) -> object:
    """The tree without its parentheses."""
    node = node.unnest() if isinstance(node, exp.Paren) else node
    if not isinstance(node, exp.Expr):
        return [bare(each) for each in node] if isinstance(node, list) else node
    return type(node), {name: bare(part) for name, part in node.args.items() if part}


@given(st.recursive(OPERANDS, grown, max_leaves=8))
def test_operators_are_read_as_they_were_made(made: sql.Operand) -> None:
    made = sql.operand(made)
    read = parse_one(made.sql("duckdb"), read="duckdb")
    assert bare(read) == bare(made.copy()), made.sql("duckdb")
