"""`inspect` on queries that random schemas hardly ever ask: WHERE and joins on the optional side of a LEFT JOIN, cycles
through it, equalities that say more than they seem to, and nothing at all."""

import pytest
from sqlglot import exp, parse, parse_one

from sqlsvm.ask.inspect import Inspection, as_json, inspect
from sqlsvm.ask.remarks import remarks
from sqlsvm.engine.base import Engine
from tests.typed import asked, typed

pytestmark = pytest.mark.twin

TABLES = """
CREATE TABLE a (k INT, j INT, x DOUBLE PRECISION, y INT);
CREATE TABLE b (k INT, j INT, z DOUBLE PRECISION);
CREATE TABLE c (j INT, k DOUBLE PRECISION, w INT);
CREATE TABLE nothing (k INT, q INT);
INSERT INTO a VALUES (1, 1, 0.0, 1), (1, 2, -0.0, 0), (2, 1, 1.5, 1), (3, 3, NULL, 0), (NULL, 1, 2, 1), (2, 2, 3, 0);
INSERT INTO b VALUES (1, 1, -0.0), (2, 2, 0.0), (3, 1, 1.5), (NULL, 2, 7);
INSERT INTO c VALUES (1, 1.0, 1), (1, 2.0, 2), (2, 2.0, 3), (2, 1.0, 4), (3, NULL, 5)
"""


@pytest.fixture
def tables(engine: Engine) -> Engine:
    for statement in parse(TABLES, read=engine.dialect):
        assert statement is not None
        typed(engine, statement)
    return engine


def agrees(engine: Engine, text: str) -> Inspection:
    found = inspect(engine, text, label="y")
    counts = parse_one(
        f"SELECT COUNT(*) AS n, COUNT(CASE WHEN y = 1 THEN 1 END) AS p FROM ({text}) AS q", read=engine.dialect
    )
    assert isinstance(counts, exp.Query)
    truth = asked(engine, counts)
    assert found.label
    assert (found.join_rows, found.label.positive) == (truth["n"][0], truth["p"][0])
    return found


@pytest.mark.parametrize(
    ("rest", "rows", "acyclic"),
    [
        pytest.param("a JOIN b ON a.x = b.z", 5, True, id="zero of either sign"),
        pytest.param("a JOIN c ON a.k = c.k", 8, True, id="whole and real"),
        pytest.param("a JOIN b ON a.k = b.k JOIN c ON c.k = a.k AND c.k = b.j", 8, True, id="two spellings"),
        pytest.param("a LEFT JOIN b ON b.k = a.k AND b.j = a.k", 6, True, id="one key twice"),
        pytest.param(
            "a LEFT JOIN b ON b.k = a.k JOIN c ON c.j = b.j AND c.k = a.k", 4, False, id="optional in a cycle"
        ),
        pytest.param(
            "a LEFT JOIN b ON b.k = a.k, c WHERE c.j = COALESCE(b.j, 2) AND c.k = COALESCE(b.k, 2) AND c.j = a.j",
            2,
            True,
            id="no match on two keys",
        ),
        pytest.param(
            "a LEFT JOIN b ON b.k = a.k, c WHERE c.j = COALESCE(b.j, 2) AND c.k = a.j",
            5,
            False,
            id="no match in a cycle",
        ),
        pytest.param(
            "a LEFT JOIN b ON b.k = a.k JOIN a AS s ON COALESCE(b.j, 1) = s.j AND COALESCE(b.k, 2) = s.k",
            5,
            True,
            id="no match meets a row",
        ),
        pytest.param(
            "a JOIN b ON a.k = b.k JOIN c ON c.j = b.j AND c.k = a.j LEFT JOIN b AS d ON d.k = c.w",
            4,
            False,
            id="optional on a cycle",
        ),
        pytest.param(
            "a JOIN b ON a.k = b.k JOIN c ON c.j = b.j AND c.k = a.j LEFT JOIN b AS d ON d.k = c.w"
            " WHERE COALESCE(d.j, 1) = a.j AND COALESCE(d.z, 0) = b.z",
            3,
            False,
            id="optional across a cycle",
        ),
        pytest.param("a JOIN c ON c.j = a.j AND c.k = a.k", 4, True, id="two variables"),
    ],
)
def test_queries(tables: Engine, rest: str, rows: int, acyclic: bool) -> None:
    found = agrees(tables, f"SELECT a.y, a.x FROM {rest}")
    assert (found.join_rows, found.tree.acyclic) == (rows, acyclic)


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("a CROSS JOIN nothing AS n", "n has no rows"),
        ("a JOIN nothing AS n USING (k)", "n has no rows"),
        ("a JOIN b USING (k) CROSS JOIN nothing AS n", "n has no rows"),
        ("a CROSS JOIN b WHERE a.x > 100", "no row of a passes the conditions on it"),
        ("a WHERE FALSE", "no row of a passes the conditions on it"),
        ("a JOIN b ON a.k = b.k + 100", "no row of a has a partner in b"),
        pytest.param(
            "a JOIN b ON a.k = b.k WHERE b.z > 100", "no row of b passes the conditions on it", id="NULL keys aside"
        ),
        pytest.param("a JOIN b ON a.k = b.k WHERE b.k IS NULL", "no row of a has a partner in b", id="NULL keys alone"),
        pytest.param(
            "a JOIN b ON a.k = b.k + 100 WHERE a.x > 0", "no row of a has a partner in b", id="some pass, none meets"
        ),
        ("a JOIN b ON a.k = b.k JOIN c ON c.j = b.j AND c.w > 4", "no row of b has a partner in c"),
    ],
)
def test_empty_joins(tables: Engine, rest: str, reason: str) -> None:
    found = agrees(tables, f"SELECT a.y, a.x FROM {rest}")
    assert found.join_rows == 0
    assert {r.rows_surviving for r in found.relations} == {0}
    assert list(remarks(found)) == [("warning", f"the join is empty: {reason}")]


def test_an_empty_optional_relation_changes_nothing(tables: Engine) -> None:
    found = agrees(tables, "SELECT a.y, n.q FROM a LEFT JOIN nothing AS n USING (k)")
    assert [(r.rows, r.rows_surviving) for r in found.relations] == [(6, 6), (0, 0)]
    assert (found.edges[0].dangling_left, found.edges[0].null_keys) == (5, 1)


def test_survivors_of_an_optional_relation_that_is_joined_up_front(tables: Engine) -> None:
    """The made-up row that stands for no match is none of them."""
    rest = "FROM a LEFT JOIN b ON b.k = a.k, c WHERE c.j = COALESCE(b.j, 2) AND c.k = a.j"
    found = agrees(tables, f"SELECT a.y, a.x {rest}")
    assert any("b" in block and len(block) > 1 for block in found.tree.nodes)
    truth = parse_one(f"SELECT COUNT(DISTINCT b.k) AS n, COUNT(*) - COUNT(b.k) AS misses {rest}", read=tables.dialect)
    assert isinstance(truth, exp.Query)
    counted = asked(tables, truth)
    assert counted["misses"][0] > 0
    assert found.relations[1].rows_surviving == counted["n"][0]


def test_as_json(tables: Engine) -> None:
    found = as_json(inspect(tables, "SELECT a.y, a.x, b.z FROM a LEFT JOIN b ON b.k = a.k", label="y"))
    assert found == {
        "relations": [
            {"alias": "a", "table": "a", "rows": 6, "rows_surviving": 6},
            {"alias": "b", "table": "b", "rows": 4, "rows_surviving": 3},
        ],
        "edges": [
            {
                "left": "a",
                "right": "b",
                "on": '"a"."k" = "b"."k"',
                "kind": "foreign-key",
                "join": "left",
                "max_left": 2,
                "max_right": 1,
                "dangling_left": 0,
                "dangling_right": 0,
                "null_keys": 2,
            }
        ],
        "bags": [["a", "b"]],
        "root": "a",
        "acyclic": True,
        "join_rows": 6.0,
        "features": [
            {"name": "x", "relation": "a", "kind": "numeric", "nulls": 1, "nans": 0, "infinite": 0},
            {"name": "z", "relation": "b", "kind": "numeric", "nulls": 0, "nans": 0, "infinite": 0},
        ],
        "label": {"column": "y", "relation": "a", "rows": {"-1": 3.0, "1": 3.0}, "nulls": 0},
        "alike": [],
    }
