"""GROUP BY over a join has the same rows if the join is not made. `python -m tests.queries` runs many more."""

import io

import pytest
from sqlglot import exp, parse_one

from sqlsvm.ask.explain import explain
from sqlsvm.ask.inspect import inspect
from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.errors import QueryError
from sqlsvm.query.folding.fold import groups_of
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rows import render
from sqlsvm.show.inspection import draw
from sqlsvm.show.plan import draw_plan
from tests.ground.grouping import check, rows_of
from tests.ground.trained import training
from tests.typed import asked, run

FEW = 30

USERS = "CREATE TABLE users AS SELECT n AS id, n % 3 = 0 AS left_us, n % 5 AS age FROM GENERATE_SERIES(1, 9) AS g(n)"
POSTS = "CREATE TABLE posts AS SELECT 1 + n % 9 AS owner, n % 7 AS score FROM GENERATE_SERIES(1, 60) AS g(n)"
BADGES = "CREATE TABLE badges AS SELECT 1 + n % 4 AS uid, n % 3 AS class FROM GENERATE_SERIES(1, 40) AS g(n)"
BOTH = "FROM users u JOIN posts p ON p.owner = u.id JOIN badges b ON b.uid = u.id"


@pytest.mark.slow
def test_random_queries(shared_engine: Engine) -> None:
    first = FEW if shared_engine.dialect == "postgres" else 0
    assert [check(shared_engine, seed) for seed in range(first, first + FEW)].count("folded") > FEW // 3


@pytest.fixture
def users(engine: Engine) -> Engine:
    for made in (USERS, POSTS, BADGES):
        run(engine, made)
    return engine


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT u.left_us, COUNT(*) AS n, SUM(p.score * b.class) AS s {BOTH} GROUP BY u.id, u.left_us",
        f"WITH g AS (SELECT u.id, MAX(p.score) AS top, COUNT(b.class) AS n {BOTH} GROUP BY u.id) "
        "SELECT u.left_us, u.age, g.top, g.n FROM users u JOIN g ON g.id = u.id",
        f"SELECT left_us, AVG(n) AS mean FROM (SELECT u.id, u.left_us, COUNT(*) AS n {BOTH} GROUP BY 1, 2) AS s "
        "GROUP BY left_us",
        "SELECT u.left_us, MIN(p.score) AS low FROM users u JOIN posts p ON p.owner = u.id, badges GROUP BY 1",
        f"SELECT u.left_us, COUNT(*) AS n {BOTH} GROUP BY u.left_us UNION ALL SELECT left_us, age FROM users",
    ],
)
def test_the_query_is_read_over_its_tables(users: Engine, text: str) -> None:
    query = read_query(users, text)
    found = render(query)
    assert not any(owners >= {"posts", "badges"} for owners in map(_tables, found.find_all(exp.Select)))
    assert rows_of(users.fetch(found)) == rows_of(asked(users, text))
    reasons = [relation.once.reason for relation in query.relations if relation.once]
    assert reasons
    assert not any("sqlsvm" in reason or "a0" in reason for reason in reasons)


def _tables(select: exp.Select) -> set[str]:
    """Those in FROM, not inside a sub-query."""
    items = [select.args["from_"].this, *(j.this for j in select.args.get("joins") or [])]
    return {item.name for item in items if isinstance(item, exp.Table)}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT u.left_us, COUNT(*) AS n FROM users u JOIN posts p ON p.owner = u.id GROUP BY u.id, u.left_us",
        f"SELECT u.left_us, COUNT(DISTINCT p.score) AS n {BOTH} GROUP BY u.id, u.left_us",
        f"SELECT u.left_us, STDDEV(p.score) AS d {BOTH} GROUP BY u.id, u.left_us",
        f"SELECT u.left_us, COUNT(*) AS n {BOTH} WHERE u.age < (SELECT MAX(age) FROM users) GROUP BY 1",
        f"SELECT u.left_us, p.score, COUNT(*) AS n {BOTH} GROUP BY GROUPING SETS ((u.left_us), (p.score))",
    ],
)
def test_what_gains_nothing_stays(users: Engine, text: str) -> None:
    select = parse_one(text, read=users.dialect)
    assert isinstance(select, exp.Select)
    assert groups_of(users.bound(select), (), users) is None
    assert rows_of(users.fetch(render(read_query(users, text)))) == rows_of(asked(users, text))


def test_a_sum_is_larger_than_a_bigint(users: Engine) -> None:
    run(users, f"CREATE TABLE large AS SELECT n % 2 AS k, {2**52} + n AS x FROM GENERATE_SERIES(1, 3000) AS g(n)")
    text = "SELECT a.k, SUM(b.x) AS s, COUNT(*) AS n FROM large a JOIN large b ON b.k = a.k GROUP BY a.k"
    inner = render(read_query(users, text)).subquery("q")
    found = users.fetch(exp.select("CAST(s AS TEXT) AS s").from_(inner))["s"].tolist()
    assert {*found} == {str(1500 * sum(2**52 + n for n in range(1, 3001) if n % 2 == k)) for k in (0, 1)}


def test_the_note_says_which_join_is_not_made(users: Engine) -> None:
    text = f"SELECT u.left_us, u.age, COUNT(*) AS n {BOTH} GROUP BY u.id, u.left_us, u.age"
    (model,) = trained(users, text, {"m": training("left_us")})
    reason = "GROUP BY u.id, u.left_us, u.age groups rows; the join of u, p and b is not made"
    assert model.notes[0] == f"the database made 4 rows of the query for the training: {reason}"
    found = inspect(users, text, label="left_us")
    assert f"the database made 4 rows of the query: {reason}" in draw(found, io.StringIO())
    plan = draw_plan(explain(users, text, training(label="left_us")), io.StringIO())
    assert f"the database makes the rows of the query: {reason}" in plan


def test_a_join_that_is_too_large_is_counted_and_not_made(users: Engine) -> None:
    users.make_at_most = 200
    made: list[str] = []
    users.on_statement = made.append
    text = f"SELECT u.left_us, ROW_NUMBER() OVER (ORDER BY p.score) AS place {BOTH}"
    with pytest.raises(QueryError, match=r"^the query has 270 rows, more than 200, and all of them") as refused:
        trained(users, text, {"m": training("left_us")})
    assert "make_at_most" in (refused.value.hint or "")
    assert not any("CREATE" in sent and "row_number" in sent.lower() for sent in made)
