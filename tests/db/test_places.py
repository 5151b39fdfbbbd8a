"""Scores by place in an array: which relations are placed, and that a pass counts the same rows as by joins."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.compile.oracle import oracle_pass
from sqlsvm.engine.base import Engine, Text, Values
from sqlsvm.plan.plan import Places, Plan
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.query.facts import Facts
from sqlsvm.run.opening import labelled
from sqlsvm.run.workspace import workspace
from sqlsvm.solve.oracle import Cut
from tests.ground.opened import Opened, Wish, build, is_clear, opened, opened_world
from tests.ground.schemas import Wishes
from tests.sized import sized
from tests.typed import meant

STAR = "SELECT y, x, z FROM f JOIN d ON f.k = d.k"
CODED = ProblemOptions("y", categorical=("x",))
"""With categories not all is added up at once, which would need no arrays."""

ONE_BAG: Wishes = {"many_to_many": False, "max_rows": 40}


@pytest.fixture
def arrays(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that takes whole numbers for places, even if joins are faster there."""
    able = replace(engine.rates, array=engine.rates.array or 0.0)
    monkeypatch.setattr(engine, "rates", able, raising=False)
    return engine


def facts(engine: Engine, ours: Values, theirs: Values, types: tuple[str, str] = ("INT", "INT")) -> None:
    """f (k, y, x) with our keys; d (k, z) with theirs."""
    number = np.arange(len(ours))
    build(engine, f"CREATE TABLE f (k {types[0]}, y INT, x INT); CREATE TABLE d (k {types[1]}, z INT)")
    engine.copy_in(meant(engine, "f"), {"k": ours, "y": number % 2, "x": number * 7 % 5})
    engine.copy_in(meant(engine, "d"), {"k": theirs, "z": np.arange(len(theirs)) % 3})


def plan_of(engine: Engine, text: str = STAR, options: ProblemOptions = CODED) -> Plan:
    return planned(Facts(engine), labelled(engine, text, options), options)[0]


# -- what is placed ----------------------------------------------------------------------------------------------------


def test_dense_keys_are_places(postgres: Engine) -> None:
    facts(postgres, np.arange(40) % 10 + 3, np.arange(10) + 3)
    plan = plan_of(postgres)
    assert plan.placed == {plan.tree.node_of("d"): Places(3, 12)}
    assert Places(3, 12).size == 10


def test_nothing_is_placed_where_a_hash_table_is_as_fast(duckdb: Engine) -> None:
    facts(duckdb, np.arange(40) % 10, np.arange(10))
    assert not plan_of(duckdb).placed


@pytest.mark.parametrize(
    ("theirs", "placed"),
    [
        (range(20), True),
        (range(21), False),
        (range(-5, 5), True),
        (range(0, 10, 2), True),
        (range(0, 10, 3), False),
        ([7], True),
        ([0, 2**40], False),
        ([-(2**63), 2**63 - 1], False),
    ],
)
def test_places_are_shared_and_mostly_taken(arrays: Engine, theirs: Sequence[int], placed: bool) -> None:
    """By two rows each of these 40; and half of them by a key."""
    facts(arrays, np.zeros(40, dtype=int), np.array(theirs), ("INT", "BIGINT"))
    assert bool(plan_of(arrays).placed) == placed


def test_an_array_is_not_larger_than_8_mb(arrays: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Engine.sizes.array == 1_000_000
    sized(monkeypatch, array=9)
    facts(arrays, np.zeros(40, dtype=int), np.arange(10))
    assert not plan_of(arrays).placed
    build(arrays, "DELETE FROM d WHERE k = 9")
    assert plan_of(arrays).placed


@pytest.mark.parametrize("types", [("INT", "DOUBLE PRECISION"), ("NUMERIC", "INT"), ("TEXT", "TEXT"), ("DATE", "DATE")])
def test_other_keys_are_met(arrays: Engine, types: tuple[str, str]) -> None:
    build(arrays, f"CREATE TABLE f (k {types[0]}, y INT, x INT); CREATE TABLE d (k {types[1]}, z INT)")
    one = "DATE '2026-01-01'" if "DATE" in types else "'1'"
    build(arrays, f"INSERT INTO f VALUES {', '.join(f'({one}, {y}, 1)' for y in (0, 1, 0, 1))}")
    build(arrays, f"INSERT INTO d VALUES ({one}, 1)")
    assert not plan_of(arrays).placed


@pytest.mark.parametrize(
    "text",
    [
        "SELECT y, x, z FROM f JOIN d ON f.k = d.k AND f.x = d.z",
        "SELECT y, x, z FROM f LEFT JOIN d ON f.k = d.k",
        "SELECT d.z > 1 AS y, x FROM f JOIN d ON f.k = d.k",
        "SELECT f.y, f.x, z FROM f JOIN d ON f.k = d.k JOIN f g ON g.k = f.k",
    ],
    ids=["two columns", "left join", "label elsewhere", "two bags"],
)
def test_only_single_keys_of_the_facts_are_places(arrays: Engine, text: str) -> None:
    facts(arrays, np.arange(80) % 4, np.arange(4))
    assert not plan_of(arrays, text).placed


def test_a_weight_has_to_be_met(arrays: Engine) -> None:
    facts(arrays, np.arange(80) % 4, np.arange(4))
    text = "SELECT y, x, d.z AS times FROM f JOIN d ON f.k = d.k"
    assert plan_of(arrays, text).placed
    assert not plan_of(arrays, text, replace(CODED, weight="times")).placed


def test_no_keys_are_no_places(arrays: Engine) -> None:
    facts(arrays, np.arange(80) % 4, np.arange(4))
    build(arrays, "UPDATE d SET k = NULL")
    assert not plan_of(arrays).placed


# -- what is counted ---------------------------------------------------------------------------------------------------


@pytest.fixture
def odd_keys(arrays: Engine) -> Iterator[Opened]:
    """Holes, keys without a partner on either side of the array, NULL, and keys that no subscript could be."""
    rng = np.random.default_rng(7)
    ours = np.ma.masked_less(rng.integers(-9, 9, 400), -8)
    ours[:4] = [2**62, -(2**62), 2**31, -(2**31) - 1]
    theirs = np.array([-6, -5, -3, 0, 1, 4], dtype=np.int16)
    facts(arrays, ours, theirs, ("BIGINT", "SMALLINT"))
    with workspace(arrays) as work:
        yield opened(work, STAR, Wish(scale="standard", placed=True))


def test_rows_without_a_partner_are_in_no_pass(odd_keys: Opened) -> None:
    plan = odd_keys.plan
    assert plan.placed == {plan.tree.node_of("d"): Places(-6, 4)}
    assert 0 < len(odd_keys.truth.y) < 300
    for seed in range(5):
        beta = odd_keys.normal(np.random.default_rng(seed))
        found, hinge = odd_keys.cut(beta), odd_keys.hinge(beta)
        assert is_clear(odd_keys.truth, beta)
        assert found.offset == pytest.approx(hinge.b, rel=1e-12)
        assert found.value_low == pytest.approx(hinge.value, rel=1e-9)
        np.testing.assert_allclose(found.slope, hinge.a, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("width", [0.0, 0.01, 1.0, 100.0])
def test_a_pass_is_the_same_by_joins(odd_keys: Opened, width: float) -> None:
    beta = odd_keys.normal(np.random.default_rng(9))
    assert_same(odd_keys.cut(beta, width=width), odd_keys.again(placed={}).cut(beta, width=width))


def test_facts_are_scanned_without_a_join(odd_keys: Opened) -> None:
    """The dimensions stand in sub-queries that are made once."""
    active, *_ = oracle_pass(odd_keys.plan)
    scans = [s for s in active.query.find_all(exp.Select) if "f" in {t.name for t in s.find_all(exp.Table)}]
    assert not any(scan.args.get("joins") for scan in scans)


def assert_same(found: Cut, wanted: Cut) -> None:
    assert found.offset == pytest.approx(wanted.offset, rel=1e-12)
    assert found.value_low == pytest.approx(wanted.value_low, rel=1e-12)
    np.testing.assert_allclose(found.slope, wanted.slope, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_random_worlds_are_the_same_by_joins(shared_engine: Engine) -> None:
    placed = 0
    for seed in range(500, 540):
        with opened_world(shared_engine, seed, Wish(placed=True), **ONE_BAG) as found:
            if not found or not found.plan.placed:
                continue
            placed += 1
            rng = np.random.default_rng(seed)
            for beta, width in ((found.dyadic(rng), 0.0), (found.normal(rng), 0.0), (found.normal(rng), 0.5)):
                assert_same(found.cut(beta, width=width), found.again(placed={}).cut(beta, width=width))
    assert placed >= 2


def test_a_filter_still_guards_what_it_guarded(postgres: Engine) -> None:
    """Without a join the condition on the score is one of the same scan, and cheaper than this function."""
    facts(postgres, np.arange(80) % 4, np.arange(4))
    postgres.execute(
        Text("CREATE FUNCTION okay(INT) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 <> 0; END'")
    )
    text = "SELECT y, 12 / f.x AS x, z FROM f JOIN d ON f.k = d.k WHERE okay(f.x)"
    plan = plan_of(postgres, text)
    assert plan.placed
    with workspace(postgres) as work:
        found = opened(work, text, Wish()).again(placed=plan.placed)
        assert 0 < len(found.truth.y) < 80
        for seed in range(3):
            beta = found.normal(np.random.default_rng(seed))
            assert found.cut(beta).value_low == pytest.approx(found.hinge(beta).value, rel=1e-9)


def test_snowflakes_and_filters(arrays: Engine) -> None:
    """An arm of two tables, a filtered dimension, a sub-query, and keys that are expressions."""
    build(
        arrays,
        """CREATE TABLE f (a INT, b INT, y INT, x INT); CREATE TABLE a (id INT, c INT, z INT);
        CREATE TABLE c (id INT, z INT); CREATE TABLE b (id INT, z INT, kept BOOLEAN)""",
    )
    n = np.arange(600)
    arrays.copy_in(meant(arrays, "f"), {"a": n * 7 % 13, "b": n * 11 % 17, "y": n * 5 % 3 % 2, "x": n % 5})
    arrays.copy_in(meant(arrays, "a"), {"id": n[:12], "c": n[:12] % 4, "z": n[:12] % 3})
    arrays.copy_in(meant(arrays, "c"), {"id": n[:3], "z": n[:3]})
    arrays.copy_in(meant(arrays, "b"), {"id": n[:15], "z": n[:15] % 4, "kept": n[:15] % 3 > 0})
    text = """SELECT f.y, f.x, a.z AS az, c.z AS cz, b.z AS bz FROM f JOIN a ON a.id = f.a JOIN c ON c.id = a.c
        JOIN (SELECT id + 1 AS id, z FROM b WHERE kept) AS b ON b.id = f.b + 1"""
    plan = plan_of(arrays, text)
    assert {plan.tree.name(node) for node in plan.placed} == {"a", "b"}
    with workspace(arrays) as work:
        found = opened(work, text, Wish(scale="standard", copied=True))
        by_place = found.again(placed=plan.placed)
        for seed in range(3):
            beta = found.normal(np.random.default_rng(seed))
            assert_same(by_place.cut(beta), found.cut(beta))
            assert by_place.cut(beta).value_low == pytest.approx(found.hinge(beta).value, rel=1e-9)
