"""N, N- and the moments of every coordinate over the virtual join, against the rows of the query itself."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Engine, Values
from sqlsvm.engine.duckdb import DuckDB
from sqlsvm.errors import DataError
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.query.facts import Facts
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.opening import labelled, open_problem
from sqlsvm.run.workspace import Workspace, workspace
from tests.ground.opened import Wish, build, joined, opened_problem, spelled, truth
from tests.ground.reference import Joined
from tests.ground.schemas import random_world
from tests.typed import meant, typed

pytestmark = pytest.mark.twin

VARIANTS = (Wish(), Wish(nulls="drop"), Wish(merged=True, tables=True), Wish(class_weights=(3, 2)))


@pytest.mark.parametrize("seed", range(500, 508))
def test_moments_of_random_worlds(shared_engine: Engine, seed: int) -> None:
    world = random_world(np.random.default_rng(seed), max_relations=4)
    assert world.label
    wish = Wish(**{**vars(VARIANTS[seed % len(VARIANTS)]), "label": world.label.name})
    with world.created(shared_engine) as live, workspace(shared_engine) as work:
        text = live.query(shared_engine.dialect)
        if len(truth(shared_engine, text, wish).y):
            check(opened_problem(work, text, wish), joined(shared_engine, text, wish), wish)


def check(problem: Data, rows: Joined, wish: Wish) -> None:
    found, kept, negative = problem.moments, complete(rows, wish), is_negative(rows)
    assert (found.n, found.n_negative) == (kept.sum(), (kept & negative).sum())
    for place, column in enumerate(columns(problem, rows)):
        x = column[kept]
        assert found.total[place] == pytest.approx(x.sum(), rel=1e-12, abs=1e-12)
        assert found.squares[place] == pytest.approx((x**2).sum(), rel=1e-12, abs=1e-12)
        assert found.total_negative[place] == pytest.approx(column[kept & negative].sum(), rel=1e-12, abs=1e-12)
        if found.total[place] or x.any():  # a category that no row has is still 1 at most
            assert found.largest[place] == np.abs(x).max()


def is_negative(rows: Joined) -> Values:
    assert rows.label is not None
    negative: Values = rows.label < 0
    return negative


def complete(rows: Joined, wish: Wish) -> Values:
    """The rows that are trained on."""
    whole = np.ones(rows.rows, dtype=bool)
    if wish.nulls == "drop":
        for values in rows.features.values():
            whole &= np.array([v is not None and v == v for v in values.tolist()], dtype=bool)
    return whole


def columns(problem: Data, rows: Joined) -> Iterator[Values]:
    """Every coordinate over the join, as its role says."""
    fold, design = problem.work.engine.fold, problem.plan.design
    features = {fold(name, True): values for name, values in rows.features.items()}
    for c in design.coordinates:
        if c.role == "intercept":
            yield np.ones(rows.rows)
            continue
        values = features[fold(c.feature, True)].astype(float)
        yield np.isnan(values).astype(float) if c.role == "missing" else np.nan_to_num(values)
    for d in design.dictionaries:
        for category in d.categories:
            values = features[fold(d.feature, True)]
            yield np.array([float(v == spelled(category)) for v in values.tolist()])


# -- what only weights and sizes can get wrong -------------------------------------------------------------------------

TABLES = """
CREATE TABLE a (i INT, y INT, x FLOAT, w FLOAT); INSERT INTO a VALUES
    (1, 1, 0.5, 0.25), (1, 0, 1.5, 0), (2, 1, -4, 1.5), (3, 1, 100, 7);
CREATE TABLE b (i INT, z FLOAT); INSERT INTO b VALUES (1, 2), (1, -3), (2, 0.25), (9, 1000)
"""


def test_fractional_weights(engine: Engine) -> None:
    """A row of weight 0 counts for nothing, but the largest |x| still sees it; a row without a partner is not seen."""
    build(engine, TABLES)
    with workspace(engine) as work:
        text = "SELECT a.y, a.x, b.z, a.w FROM a JOIN b ON b.i = a.i"
        found = opened_problem(work, text, Wish(weight="w")).moments
    assert (found.n, found.n_negative) == (0.25 * 2 + 1.5, 0)
    assert found.total.tolist() == [2, 2 * 0.25 * 0.5 - 1.5 * 4, 0.25 * (2 - 3) + 1.5 * 0.25]
    assert found.squares.tolist() == [2, 2 * 0.25 * 0.5**2 + 1.5 * 16, 0.25 * (4 + 9) + 1.5 / 16]
    assert found.largest.tolist() == [1, 4, 3]
    assert found.total_negative.tolist() == [0, 0, 0]


def test_moments_of_1e30_rows(engine: Engine) -> None:
    """Ten tables of 1000 rows that all meet."""
    number = np.arange(1000)
    for t in range(10):
        typed(engine, parse_one(f"CREATE TABLE t{t} (k INT, x INT)"))
        engine.copy_in(meant(engine, f"t{t}"), {"k": number * 0, "x": number % (t + 2)})
    joins = " ".join(f"JOIN t{t} ON t{t}.k = t0.k" for t in range(1, 10))
    features = ", ".join(f"t{t}.x AS x{t}" for t in range(1, 10))
    with workspace(engine) as work:
        found = opened_problem(work, f"SELECT t0.x AS y, {features} FROM t0 {joins}", Wish()).moments
    means = np.array([1.0, *((number % (t + 2)).mean() for t in range(1, 10))])
    np.testing.assert_allclose([found.n, found.n_negative], [1e30, 5e29], rtol=1e-12)
    np.testing.assert_allclose(found.total, 1e30 * means, rtol=1e-12)
    np.testing.assert_allclose(found.total_negative, 5e29 * means, rtol=1e-12)
    assert found.largest.tolist() == [1.0, *range(2, 11)]


SPREADS = {
    "a constant whose sums drift": ("a.i * 0 + 0.1", None),
    "a constant with gaps": ("CASE WHEN a.i = 1 THEN NULL ELSE 0.1 END", None),
    "what rounding leaves of a constant": ("(CASE WHEN a.i = 1 THEN 1e-1 + 2e-1 ELSE 3e-1 END)", None),
    "seconds since 1970": ("a.i + 1700000000", "x is between 1700000001 and 1700000003: its mean is much larger"),
    "seconds with gaps": ("CASE WHEN a.i = 2 THEN NULL ELSE a.i + 1700000000 END", "x is between 1700000001 and"),
    "seconds since the first": ("a.i", None),
}


@pytest.mark.parametrize("case", SPREADS)
def test_what_hardly_varies_beside_its_size(engine: Engine, case: str) -> None:
    """A constant has width 1; of what is none the digits are lost in which it varies, if there is no intercept that
    could take up its mean. Rows outside the join are not looked at."""
    value, message = SPREADS[case]
    build(engine, TABLES)
    text = f"SELECT a.y, {value} AS x, b.z FROM a JOIN b ON b.i = CASE WHEN a.i = 3 THEN 9 ELSE a.i END"
    asked = ProblemOptions("y", nulls="mean")
    if message:
        bare = replace(asked, intercept=False)
        with pytest.raises(DataError, match=message) as found, open_problem(engine, text, bare):
            pass
        assert found.value.hint
        assert "- 1700000001 AS x" in found.value.hint
    with open_problem(engine, text, asked) as problem:
        (x,) = (c.index for c in problem.plan.design.coordinates if (c.feature, c.role) == ("x", "value"))
        width = problem.scaling.matrix[list(problem.scaling.kept).index(x), x]
        assert (width == 1.0) == ("constant" in case)


# -- foreign keys that always find their row, and others ---------------------------------------------------------------

STAR = """
CREATE TABLE f (d INT, e INT, y INT, x FLOAT, w INT);
CREATE TABLE d (id INT, g INT, p FLOAT); CREATE TABLE e (id INT, q FLOAT); CREATE TABLE g (id INT, r FLOAT);
INSERT INTO f VALUES (1, 1, 1, 0.5, 2), (1, 2, 0, 1.5, 1), (2, 1, 1, -4, 3), (2, 2, 0, 7, 1), (2, 2, 0, 7, 1);
INSERT INTO d VALUES (1, 1, 2.5), (2, 2, -3), (9, 9, 100); INSERT INTO e VALUES (1, 0.25), (2, 8);
INSERT INTO g VALUES (1, 1.5), (2, 4), (3, 50)
"""
SNOWFLAKE = "SELECT f.y, x, p, q, r FROM f JOIN d ON f.d = d.id JOIN e ON f.e = e.id JOIN g ON d.g = g.id"
ALL = {"f+d", "f+e"}
"""Keys of f that find a row, one only, for every row of f."""

CHANGES = {
    "every key is found": ("SELECT 1", ALL),
    "a key is not there": ("INSERT INTO f VALUES (3, 1, 1, 99, 1)", {"f+e"}),
    "a key is NULL": ("INSERT INTO f VALUES (1, NULL, 0, 99, 1)", {"f+d"}),
    "a key behind is not there": ("INSERT INTO f VALUES (9, 1, 0, 99, 1)", {"f+e"}),
    "neither is there": ("INSERT INTO f VALUES (3, 3, 1, 99, 1)", set[str]()),
    "what no row points to is twice behind": ("INSERT INTO d VALUES (7, 1, 5), (8, 1, 6)", ALL),
    "a row is met twice": ("INSERT INTO e VALUES (2, 9)", {"f+d"}),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("weight", [None, "w"])
def test_only_what_drops_rows_is_met(engine: Engine, change: str, weight: str | None) -> None:
    """Where a key always finds its row, what is asked of the label's node does without it."""
    script, met = CHANGES[change]
    build(engine, STAR)
    build(engine, script)
    wish, text = Wish(weight=weight), SNOWFLAKE.replace("y, x", "y, w, x") if weight else SNOWFLAKE
    with workspace(engine) as work:
        statements = watched(work)
        check(opened_problem(work, text, wish), joined(engine, text, wish), wish)
    sent = statements["moments 0"].sql()
    assert {found for found, key in (("f+d", "k0"), ("f+e", "k1")) if f"n.{key} = " not in sent} == met


def test_many_dimensions_take_a_scan_each(engine: Engine) -> None:
    """No message down joins the label's node with the other dimensions."""
    keys = np.arange(64)
    for t in range(6):
        typed(engine, parse_one(f"CREATE TABLE d{t} (id INT, x INT)"))
        engine.copy_in(meant(engine, f"d{t}"), {"id": keys[: t + 2], "x": keys[: t + 2] % 3})
    columns = ", ".join(f"k{t} INT" for t in range(6))
    typed(engine, parse_one(f"CREATE TABLE f ({columns}, y INT)"))
    engine.copy_in(meant(engine, "f"), {**{f"k{t}": keys % (t + 2) for t in range(6)}, "y": keys % 2})
    joins = " ".join(f"JOIN d{t} ON d{t}.id = f.k{t}" for t in range(6))
    text = f"SELECT y, {', '.join(f'd{t}.x AS x{t}' for t in range(6))} FROM f {joins}"
    with workspace(engine) as work:
        statements = watched(work)
        check(opened_problem(work, text, Wish()), joined(engine, text, Wish()), Wish())
    scans = [query for query in statements.values() if "f" in {t.name for t in query.find_all(exp.Table)}]
    assert len(scans) == 6 + 1
    assert not any(query.find(exp.Join) for query in scans)


@pytest.fixture
def many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the facts were too many to join all columns to them."""
    monkeypatch.setattr(DuckDB, "rates", replace(DuckDB.rates, measured=0.0))


def test_a_small_star_is_measured_in_one_scan(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    build(duckdb, STAR)
    query = labelled(duckdb, SNOWFLAKE, ProblemOptions("y"))
    totals = []
    for most, expected in ((5, 1), (4, 4)):
        monkeypatch.setattr(DuckDB, "rates", replace(DuckDB.rates, measured=most))
        with workspace(duckdb) as work:
            statements = watched(work)
            totals.append(prepared(work, query, ProblemOptions("y")).moments.total.tolist())
        assert len([name for name in statements if name.startswith("moments")]) == expected
    assert totals[0] == totals[1] == [5, 12, -4, 24.5, 15]


@pytest.mark.usefixtures("many_rows")
@pytest.mark.parametrize(
    ("keys", "features", "looks"), [(25, "y, x, z", True), (26, "y, x, z", False), (25, "y, x", False)]
)
def test_few_keys_are_worth_a_look(engine: Engine, keys: int, features: str, looks: bool) -> None:
    """Four rows a key at the least; and something has to be sent there."""
    number = np.arange(100)
    build(engine, "CREATE TABLE f (k INT, y INT, x INT); CREATE TABLE d (k INT, z INT)")
    engine.copy_in(meant(engine, "f"), {"k": number % keys, "y": number % 2, "x": number})
    engine.copy_in(meant(engine, "d"), {"k": number[:keys], "z": number[:keys]})
    query = labelled(engine, f"SELECT {features} FROM f JOIN d ON f.k = d.k", ProblemOptions("y"))
    with workspace(engine) as work:
        statements = watched(work)
        problem = prepared(work, query, ProblemOptions("y"))
        assert problem.moments.n == 100
    assert ("keys of f for d" in statements) == looks


@pytest.mark.usefixtures("many_rows")
@pytest.mark.parametrize("theirs", ["BIGINT", "DOUBLE PRECISION", "INT"])
def test_keys_of_other_numbers_are_alike(engine: Engine, theirs: str) -> None:
    assert is_looked_at(engine, "INT", theirs)


def test_keys_that_are_equal_in_two_ways_are_met(postgres: Engine) -> None:
    """'A' and 'a' are one citext, and two as text: which of them finds a partner says nothing of the other."""
    typed(postgres, "CREATE EXTENSION citext")
    assert is_looked_at(postgres, "CITEXT", "CITEXT")
    build(postgres, "DROP TABLE f; DROP TABLE d")
    assert not is_looked_at(postgres, "CHAR(1)", "TEXT")


def is_looked_at(engine: Engine, ours: str, theirs: str) -> bool:
    for table, column, key in (("f", "y", ours), ("d", "z", theirs)):
        typed(engine, f"CREATE TABLE {table} (k {key}, {column} INT)")
    typed(engine, "INSERT INTO f VALUES ('1', 0), ('1', 1), ('1', 0), ('1', 1)")
    typed(engine, "INSERT INTO d VALUES ('1', 5)")
    query = labelled(engine, "SELECT y, z FROM f JOIN d ON f.k = d.k", ProblemOptions("y"))
    return bool(planned(Facts(engine), query, ProblemOptions("y"))[0].looked)


def watched(work: Workspace) -> dict[str, exp.Query]:
    """The statements that are going to be sent."""
    found: dict[str, exp.Query] = {}

    def note(statement: Statement, _rows: float, _seconds: float) -> None:
        found[statement.name] = statement.query

    work.on_done = note
    return found
