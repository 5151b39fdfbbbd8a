"""`explain`: sizes foretold and measured, statements that run as they are printed, and the reasons given."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.ask.explain import Explanation, analyze, explain, pretty, script
from sqlsvm.compile.messages import scored_table
from sqlsvm.compile.statement import Statement
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Rows, Text, Values
from sqlsvm.engine.duckdb import DuckDB
from sqlsvm.options import Counting
from sqlsvm.plan.constraints import read_beta
from sqlsvm.plan.parameters import BOUND, BUCKETS, LABEL, THETA, WIDTH
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.join_oracle import JoinOracle, sums
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import rendered, workspace
from sqlsvm.show.plan import draw_plan
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import meant

TABLES = """
CREATE TABLE a (k INT, y BOOLEAN, x DOUBLE PRECISION);
CREATE TABLE b (k INT, l INT, x DOUBLE PRECISION, shade INT);
CREATE TABLE c (l INT, x DOUBLE PRECISION);
CREATE TABLE shades (id INT PRIMARY KEY, x DOUBLE PRECISION, tone TEXT)
"""
CHAIN = """
SELECT a.y, a.x, b.x AS bx, s.x AS sx, s.tone, c.x AS cx
FROM a JOIN b ON a.k = b.k JOIN shades AS s ON s.id = b.shade JOIN c ON c.l = b.l
"""
ONE_BAG = "SELECT b.x > 0 AS y, s.x AS sx, s.tone FROM b JOIN shades AS s ON s.id = b.shade"
TWO_BAGS = "SELECT a.y, a.x, c.x AS cx FROM a JOIN c ON a.k = c.l"
ROWS, KEYS, SHADES = 600, 20, 30
BETA = {"intercept": 0.1, "weights": {"x": 1.5, "bx": -1.0, "sx": 0.5, "cx": 0.7, "tone": {"red": 0.3}}}


def uniform(engine: Engine) -> None:
    """Keys and features spread evenly over three tables that meet many-to-many, one of them with a foreign key."""
    build(engine, TABLES)
    rng = np.random.default_rng(3)
    keys = {name: rng.integers(0, KEYS, (4, ROWS)) for name in "abc"}
    x = {name: rng.uniform(-1, 1, ROWS) for name in "abc"}
    shade = rng.integers(0, SHADES, ROWS)
    tones = np.array(["red", "green", "blue"], dtype=object)
    tables: dict[str, dict[str, Values]] = {
        "a": {"k": keys["a"][0], "y": rng.uniform(size=ROWS) < 0.4, "x": x["a"]},
        "b": {"k": keys["b"][0], "l": keys["b"][1], "x": x["b"], "shade": shade},
        "c": {"l": keys["c"][0], "x": x["c"]},
        "shades": {"id": np.arange(SHADES), "x": rng.uniform(-1, 1, SHADES), "tone": tones[np.arange(SHADES) % 3]},
    }
    for name, columns in tables.items():
        engine.copy_in(meant(engine, name), columns)


def options(counting: Counting = "auto") -> ProblemOptions:
    return raw(counting)


def raw(counting: Counting = "auto", **more: Any) -> Training:
    """Without scaling. Only descent counts by sketches."""
    return training(scale="none", counting=counting, solver="descent" if counting == "sketch" else "dane", **more)


# -- sizes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counting", ["exact", "grid"])
def test_estimates_are_of_the_right_size(engine: Engine, counting: Counting) -> None:
    """Tables that hold what the data is are met within a factor of ten; those that hold what beta leaves of it may be
    any amount smaller, but no larger."""
    uniform(engine)
    found = analyze(engine, CHAIN, raw(counting), BETA)
    tables = [s for s in found.statements if s.statement.table and s.phase != "sample"]
    assert [s.name for s in tables if s.estimated_rows is None] == []
    assert len(tables) > 20
    for s in tables:
        assert s.estimated_rows is not None
        assert s.rows is not None
        assert s.rows <= 10 * s.estimated_rows, s.name
        if not s.name.startswith(("values of", "counts", "the two sides")):
            assert s.rows >= s.estimated_rows / 10, s.name


def test_sizes_are_measured_not_guessed(engine: Engine) -> None:
    uniform(engine)
    found = {s.statement.table: s for s in analyze(engine, CHAIN, raw("exact")).statements}
    assert found[scored_table(0)].rows == ROWS
    assert all(s.seconds is not None and s.seconds > 0 for s in found.values())


def test_an_observer_hears_of_every_statement(engine: Engine) -> None:
    heard = []
    query = parse_one("SELECT 1 AS n UNION ALL SELECT 2 AS n")
    assert isinstance(query, exp.Query)
    with workspace(engine) as work:
        work.on_done = lambda statement, rows, seconds: heard.append((statement.name, rows))
        work.run([Statement("kept", query, "sqlsvm_kept"), Statement("answered", query)])
    assert heard == [("kept", 2.0), ("answered", 2.0)]


@pytest.mark.thin(5)
@pytest.mark.parametrize("counting", ["auto", "grid", "sketch"])
def test_nothing_is_left_behind(engine: Engine, statements: list[str], counting: Counting) -> None:
    uniform(engine)
    before = engine.table_names()
    statements.clear()
    plain = explain(engine, CHAIN, raw(counting))
    assert [s for s in statements if not s.lstrip().startswith(("SELECT", "WITH", "DESCRIBE"))] == []
    measured = analyze(engine, CHAIN, raw(counting), BETA)
    assert engine.table_names() == before
    assert not plain.analyzed
    assert measured.analyzed
    assert [s.texts for s in plain.statements] == [s.texts for s in measured.statements if s.phase != "sample"]


# -- the pass that is measured -----------------------------------------------------------------------------------------


@pytest.mark.thin(5)
@pytest.mark.parametrize("query", [ONE_BAG, TWO_BAGS, CHAIN], ids=["one bag", "two bags", "three bags"])
@pytest.mark.parametrize("counting", ["exact", "grid"])
def test_it_is_the_first_pass_of_a_training(engine: Engine, query: str, counting: Counting) -> None:
    """At the same place and as fine, so what is proven is the same. One bag of few rows has a soft pass."""
    uniform(engine)
    found = analyze(engine, query, training(counting=counting, lam=1e-3, tol=1e-2))
    model = train(engine, "m", query, training(counting=counting, lam=1e-3, tol=1e-2, max_passes=1))
    first, (then,) = found.first, model.history
    assert first is not None
    assert first.buckets == then["buckets"]
    assert first.objective == pytest.approx(then["objective"], rel=1e-12)
    assert first.lower_bound == pytest.approx(then["lower_bound"], rel=1e-9)
    assert found.plan.method == "exact" or found.buckets == first.buckets
    ramp = [s for s in found.statements if WIDTH in s.statement.parameters]
    assert bool(ramp) == (query == ONE_BAG)


def test_what_a_training_would_take(engine: Engine) -> None:
    uniform(engine)
    found = analyze(engine, CHAIN, training(counting="grid"))
    assert found.outlook is not None
    phases = {s.phase for s in found.statements}
    assert phases == {"prepare", "measure", "sample", "pass"}
    measured = sum(found.seconds(phase) for phase in phases)
    assert found.outlook.seconds >= measured
    assert 1 <= found.outlook.least <= found.outlook.most <= 4
    assert "a training would take about " in draw_plan(found, io.StringIO())


def test_a_beta_and_buckets_that_are_given_are_used(engine: Engine) -> None:
    """The beta is for the columns as they are, and the training scales them."""
    uniform(engine)
    found = analyze(engine, CHAIN, training(counting="grid", buckets=8, lam=1e-9), BETA)
    with open_problem(engine, CHAIN, options("grid")) as problem:
        cut = JoinOracle(problem).pass_(read_beta(problem.scaling, BETA), 8)
    assert found.first is not None
    assert found.first.buckets == found.buckets == 8
    assert found.first.objective == pytest.approx(cut.value_low, rel=1e-6)


# -- statements --------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["postgres", "duckdb"])
def dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that can be opened a second time."""
    if request.param == "duckdb":
        return f"duckdb:{tmp_path / 'x.duckdb'}"
    return str(request.getfixturevalue("postgres_dsn"))


@pytest.mark.thin(3)
@pytest.mark.parametrize("counting", ["exact", "grid"])
def test_the_statements_run_as_printed(dsn: str, counting: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a session that knows nothing of us they give the sums of the pass. An answer may give a parameter."""
    monkeypatch.setattr(DuckDB, "rates", replace(DuckDB.rates, met=0.0))
    with connect(dsn) as engine:
        uniform(engine)
        with open_problem(engine, CHAIN, options(counting)) as problem:
            oracle = JoinOracle(problem)
            beta = np.linspace(-1, 1, oracle.dimension)
            cut = oracle.pass_(beta, 16)
            wanted = problem.moments.total_negative - cut.slope * problem.moments.n
            theta = oracle.problem.scaling.to_raw(beta)
        found = explain(engine, CHAIN, raw(counting))
    with connect(dsn) as fresh:
        answers = run_as_printed(fresh, found, {THETA: theta, BOUND: 1.0, BUCKETS: 16.0})
    np.testing.assert_allclose(sums(found.plan, answers), wanted, rtol=1e-9, atol=1e-6)


def run_as_printed(engine: Engine, found: Explanation, given: dict[str, object]) -> dict[str, Rows]:
    answers = {}
    for s in found.statements:
        values = [given[name] for name in s.statement.parameters]
        if s.phase == "measure":
            continue
        if s.statement.table is None:
            answer = answers[s.statement.name] = engine.fetch(Text(s.texts[0]), values)
            given |= {name: found[0] for name, found in answer.items()} if s.statement.gives else {}
            continue
        for place, text in enumerate(s.texts):
            engine.execute(Text(text), values if place == 0 else [])
    return answers


def test_a_part_that_is_made_is_there_until_all_is_explained(engine: Engine) -> None:
    """What is expected of a statement asks the tables that the part is in."""
    uniform(engine)
    part = "(SELECT k, l, COUNT(*) AS n FROM b GROUP BY k, l)"
    found = analyze(engine, f"SELECT a.y, a.x, p.n FROM a JOIN {part} AS p ON p.k = a.k", raw("exact"))
    assert found.analyzed


@pytest.mark.parametrize("counting", ["exact", "grid", "sketch"])
def test_laid_out_statements_are_the_ones_that_run(engine: Engine, counting: Counting) -> None:
    uniform(engine)
    for s in explain(engine, CHAIN, raw(counting)).statements:
        for sent, text in zip(rendered(engine, s.statement), s.texts, strict=True):
            assert parse_one(text, read=engine.dialect).sql(engine.dialect) == sent
            assert "\n" in text or len(text) < 80


def test_what_reading_would_change_is_left_alone() -> None:
    assert pretty("SELECT  1,2", "postgres") == "SELECT  1,2"
    assert pretty("SELECT 1, 2", "postgres") == "SELECT\n  1,\n  2"


def test_a_thinned_sample_is_shown_as_it_is_sent(engine: Engine) -> None:
    """PostgreSQL draws it with TABLESAMPLE, whose parameters sqlglot does not read, and DuckDB by hashes."""
    build(engine, "CREATE TABLE t AS SELECT i AS x, i % 3 = 0 AS y FROM GENERATE_SERIES(1, 90000) AS r(i)")
    found = analyze(engine, "SELECT t.y, t.x FROM t", raw(lam=0.01))
    drawn = [s.texts[0] for s in found.statements if s.phase == "sample"]
    assert any("TABLESAMPLE" in text for text in drawn) == (engine.dialect == "postgres")
    assert any("HASH(" in text for text in drawn) == (engine.dialect == "duckdb")


def test_the_script_is_the_statements_and_comments(duckdb: Engine) -> None:
    """A name cannot end the comment that it stands in."""
    build(duckdb, TABLES)
    duckdb.execute(parse_one("INSERT INTO a VALUES (1, TRUE, 1), (1, FALSE, 2)"))
    alias = '"q\ndrop table a; --"'
    found = explain(duckdb, f"SELECT {alias}.y, CAST({alias}.x AS TEXT) AS x FROM a AS {alias}", raw())
    lines = script(found).split("\n")
    assert "-- $1 = bound, $2 = theta" in lines
    printed = "\n".join(line for line in lines if line and not line.startswith("-- "))
    assert printed == "\n".join(f"{text};" for s in found.statements if s.phase != "measure" for text in s.texts)
    names = [line for line in lines if line.startswith("-- pass: sums of ")]
    assert names == [r"-- pass: sums of q\ndrop table a; --"]


# -- reasons -----------------------------------------------------------------------------------------------------------


def why(engine: Engine, query: str, counting: Counting = "auto") -> tuple[str, str]:
    found = explain(engine, query, raw(counting))
    return found.plan.method, found.why


def test_why_counting_is_exact(duckdb: Engine) -> None:
    uniform(duckdb)
    one = "SELECT b.x > 0 AS y, s.x FROM b JOIN shades AS s ON s.id = b.shade"
    assert why(duckdb, one) == ("exact", "one bag: a row of the join is a row of b, so nothing is rounded")
    two = "SELECT a.y, c.x FROM a JOIN c ON a.k = c.l"
    assert why(duckdb, two) == ("exact", "two bags: one sort of their rows, about 1,200, counts exactly")
    method, reason = why(duckdb, CHAIN)
    assert (method, reason) == ("exact", "the half-joins have about 18,600 rows to sort, within the budget of 600,000")


def test_why_counting_is_on_a_grid(duckdb: Engine) -> None:
    uniform(duckdb)
    assert why(duckdb, CHAIN, "grid") == ("grid", "asked for; exact counting would sort about 18,600 rows")
    build(duckdb, "INSERT INTO a SELECT 1, TRUE, 0 FROM GENERATE_SERIES(1, 200000); INSERT INTO c SELECT 1, 0 FROM a")
    build(duckdb, "INSERT INTO b SELECT 1, 1, 0, 1 FROM GENERATE_SERIES(1, 10000)")
    method, reason = why(duckdb, CHAIN)
    assert method == "grid"
    assert reason.startswith("the half-joins would have about ")
    assert reason.endswith(" rows to sort, over the budget of 600,000")


def test_what_becomes_of_each_node(duckdb: Engine) -> None:
    uniform(duckdb)
    found = explain(duckdb, CHAIN + " WHERE a.k < 5", raw())
    told = {n.name: (n.bag, n.copied, n.merged, n.folds_into) for n in found.nodes}
    assert told == {
        "a": (0, "filtered", False, None),
        "b": (1, None, False, None),
        "s": (1, None, False, "b"),
        "c": (2, None, False, None),
    }
    (centre,) = [facts for facts in found.links if facts.link == found.plan.centre]
    assert centre.half_join_rows == min(facts.half_join_rows for facts in found.links)


CYCLE = """
CREATE TABLE p (i INT, j INT, y BOOLEAN);
CREATE TABLE q (i INT, j INT);
CREATE TABLE r (i INT, j INT);
INSERT INTO p VALUES (1, 2, TRUE), (1, 3, FALSE);
INSERT INTO q VALUES (2, 4), (3, 4);
INSERT INTO r VALUES (4, 1)
"""


def test_what_is_joined_up_front(duckdb: Engine) -> None:
    build(duckdb, CYCLE)
    cyclic = "SELECT p.y, q.i FROM p JOIN q ON p.j = q.i JOIN r ON q.j = r.i AND r.j = p.i"
    found = explain(duckdb, cyclic, raw())
    assert [n.copied for n in found.nodes if len(n.relations) > 1] == ["joined up front"]
    assert "copied: joined up front" in draw_plan(found, io.StringIO())


# -- as JSON, as a drawing ---------------------------------------------------------------------------------------------


def test_json(engine: Engine) -> None:
    uniform(engine)
    found = analyze(engine, CHAIN, raw("grid", buckets=8))
    said = json.loads(json.dumps(found.as_json(with_sql=True), allow_nan=False))
    assert said["counting"] == "grid"
    assert said["buckets"] == 8
    assert said["bags"] == [["a"], ["b", "s"], ["c"]]
    assert said["nodes"][2] == {
        "name": "s",
        "relations": ["s"],
        "rows": SHADES,
        "bag": 2,
        "copied": None,
        "merged": False,
        "folds_into": "b",
        "placed": False,
    }
    assert [link["centre"] for link in said["links"]].count(True) == 1
    assert {tuple(s) for s in said["statements"]} == {
        ("phase", "name", "table", "parameters", "estimated_rows", "rows", "seconds", "sql")
    }
    plain = explain(engine, CHAIN, raw()).as_json()
    assert {s["rows"] for s in plain["statements"]} == {None}
    assert plain["buckets"] is None
    assert all("sql" not in s for s in plain["statements"])


def test_a_sketch_shows_the_row_counting_of_one_label(engine: Engine) -> None:
    uniform(engine)
    found = analyze(engine, CHAIN, raw("sketch"), BETA)
    parameters = {name for s in found.statements for name in s.statement.parameters}
    assert {LABEL, "levels"} <= parameters
    assert any(s.name.startswith("message from c") for s in found.statements)
