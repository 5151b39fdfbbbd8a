"""Samples of the join: every row as likely as it weighs, the same rows for the same seed, and no work beyond that."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from sqlglot import parse_one

import sqlsvm.run.sampling
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Engine, Values
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.sampling import whole_join
from sqlsvm.run.workspace import Workspace, workspace
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import L2
from tests.ground.joins import even_chain
from tests.ground.opened import Opened, Wish, build, open_oracle, opened, opened_world, plan_of
from tests.listing import tables
from tests.sized import sized
from tests.typed import meant, typed

SIZE = 2000


@pytest.fixture
def in_database(monkeypatch: pytest.MonkeyPatch) -> None:
    sized(monkeypatch, drawn=0)


@pytest.fixture(params=["in the database", "in memory"])
def anywhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows are drawn from several bags."""
    sized(monkeypatch, drawn=0 if request.param == "in the database" else 1000)


both_ways = pytest.mark.usefixtures("anywhere")

# -- uniform -----------------------------------------------------------------------------------------------------------


def on_truth(found: Opened, sample: Sample) -> Values:
    """The sample as rows (features, label) in the columns of the truth."""
    here = found.places >= 0
    assert not sample.rows.dense()[:, ~here].any()
    rows = np.zeros((len(sample.signs), found.truth.x.shape[1]))
    rows[:, found.places[here]] = sample.rows.dense()[:, here]
    return np.column_stack([rows, sample.signs])


def drawn(found: Opened, sample: Sample) -> tuple[Values, Values]:
    """How often each distinct row of the join was drawn, and how often it was to be expected."""
    rows, times = np.unique(np.column_stack([found.truth.x, found.truth.y]), axis=0, return_counts=True)
    distances = np.abs(on_truth(found, sample)[:, None, :] - rows).max(axis=2)
    assert distances.min(axis=1).max() < 1e-6, "a row that the join does not have"
    hits = np.bincount(distances.argmin(axis=1), minlength=len(rows))
    return hits, times / times.sum() * len(sample.signs)


def chi_square(found: Opened, sample: Sample) -> tuple[float, int]:
    """chi^2 over the distinct rows, and its degrees of freedom."""
    hits, expected = drawn(found, sample)
    return float(((hits - expected) ** 2 / expected).sum()), len(hits) - 1


def assert_fair(found: list[tuple[float, int]]) -> None:
    """Five standard deviations. Stratified points scatter less than independent ones, never more."""
    chi = sum(c for c, _ in found)
    freedom = sum(f for _, f in found)
    assert chi <= freedom + 5 * np.sqrt(2 * freedom)


def kinds(found: Opened) -> set[str]:
    plan = found.plan
    return {
        *({"missing"} & {c.role for c in plan.design.coordinates}),
        *(["LEFT JOIN"] if plan.tree.query.numbered else []),
        *(["cycle"] if not plan.tree.acyclic else []),
        *(["categories"] if plan.design.dictionaries else []),
        *(["many-to-many"] if plan.centre else []),
        *(["foreign key"] if plan.tree.folds else []),
    }


WORLDS = (7, 9, 39, 51, 65)
"""Random worlds with joins of 21 to 168 rows; with everything that a join may have among them."""


@both_ways
def test_every_row_of_any_join_is_equally_likely(shared_engine: Engine) -> None:
    results, seen = [], set()
    for seed in WORLDS:
        wish = Wish(scale="standard" if seed % 4 == 3 else "maxabs", merged=seed % 3 == 0)
        with opened_world(shared_engine, seed, wish, many_to_many=True) as world:
            assert world
            results.append(chi_square(world, world.oracle.sample(SIZE, seed)))
            seen |= kinds(world)
    assert_fair(results)
    assert seen == {"missing", "LEFT JOIN", "cycle", "categories", "many-to-many", "foreign key"}


FORK = """
CREATE TABLE a (i INT, j INT, y INT, x FLOAT, times INT);
CREATE TABLE b (i INT, z FLOAT); CREATE TABLE c (j INT, k INT, v TEXT, b_times INT); CREATE TABLE e (k INT);
INSERT INTO a VALUES
    (1, 1, 1, 0.5, 2), (1, 2, 0, 1.5, 1), (2, 1, 1, -0.5, 3), (2, 2, 0, 0.5, 1), (NULL, 1, 1, 9, 1), (3, 1, 1, 8, 1),
    (1, 1, 0, 0.25, 0);
INSERT INTO b VALUES (1, 2.0), (1, 1.0), (1, 0.0), (2, 0.25), (2, NULL), (NULL, 7), (4, 7);
INSERT INTO c VALUES (1, 1, 'u', 1), (1, 2, 'w', 2), (2, 1, 'u', 3), (2, 3, NULL, 1), (2, 4, 'nobody', 1);
INSERT INTO e VALUES (1), (1), (1), (2), (3), (NULL)
"""
FROM = "FROM a JOIN b ON b.i = a.i JOIN c ON c.j = a.j JOIN e ON e.k = c.k"
FORK_QUERY = f"SELECT a.y, a.x, b.z, c.v {FROM}"

WISHES = {
    "a.times": Wish(weight="times"),
    "c.b_times": Wish(weight="b_times", merged=True),
    "e.k": Wish(weight="k", class_weights=(2, 5)),
}


@both_ways
@pytest.mark.parametrize("weight", WISHES)
def test_heavier_rows_are_likelier(engine: Engine, weight: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The truth has a row of weight 2 twice. Weights at the root, below it, and where nothing else is wanted."""
    monkeypatch.setattr(engine, "abilities", replace(engine.abilities, spread=weight == "e.k"))
    build(engine, FORK)
    with workspace(engine) as work:
        found = opened(work, f"SELECT a.y, {weight}, a.x, b.z, c.v {FROM}", WISHES[weight])
        sample = found.oracle.sample(SIZE, 1)
        assert_fair([chi_square(found, sample)])
    assert len(sample.rows) == SIZE
    assert set(sample.weights) == {1.0}


@both_ways
@pytest.mark.parametrize("spread", [False, True])
def test_rows_of_the_root_are_stratified(engine: Engine, spread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row with a share p of the join holds all but two of its points for certain: it is drawn K p times, +-2."""
    monkeypatch.setattr(engine, "abilities", replace(engine.abilities, spread=spread))
    build(engine, FORK)
    with workspace(engine) as work:
        found = opened(work, f"SELECT a.y, a.x {FROM}", Wish())
        hits, expected = drawn(found, found.oracle.sample(SIZE, 3))
    assert len(hits) == 5
    assert np.abs(hits - expected).max() < 2


@both_ways
@pytest.mark.parametrize("size", [1000, 2500, 3819])
def test_rows_that_repeat_with_a_period_are_as_likely(duckdb: Engine, size: int) -> None:
    """Of 10,000 rows of the root, every second one is of one kind, every third, and so on."""
    build(duckdb, "CREATE TABLE p AS SELECT i, i % 2 AS y, i % 10 AS k FROM range(10000) AS r(i)")
    build(duckdb, "CREATE TABLE q AS SELECT i % 10 AS k, i % 7 AS z FROM range(50) AS r(i)")
    text = "SELECT p.y, p.i, q.z FROM p JOIN q ON q.k = p.k"
    with workspace(duckdb) as work:
        rows = open_oracle(work, text, Wish(scale="none", intercept=False)).sample(size, 1).rows.dense()[:, 0]
    assert len(rows) == size
    for period in (2, 3, 4, 5, 6, 8, 13, 21, 34):
        times = np.bincount(np.rint(rows).astype(int) % period, minlength=period)
        assert np.abs(times - size / period).max() < 3.5 * np.sqrt(size / period)


def test_a_small_join_is_its_own_sample(engine: Engine) -> None:
    """Along foreign keys a point falls into each row; there is no use in drawing one twice."""
    build(engine, FORK)
    build(engine, "CREATE TABLE p (i INT PRIMARY KEY, z FLOAT); INSERT INTO p VALUES (1, 2.5), (2, -1)")
    with workspace(engine) as work:
        found = opened(work, "SELECT a.y, a.x, p.z FROM a JOIN p ON p.i = a.i", Wish())
        hits, expected = drawn(found, found.oracle.sample(SIZE, 5))
    assert hits.tolist() == expected.tolist() == [1] * 5


@both_ways
def test_a_missing_number_is_the_mean_and_a_missing_category_none(engine: Engine) -> None:
    build(engine, FORK)
    with workspace(engine) as work:
        found = opened(work, FORK_QUERY, Wish())
        rows = on_truth(found, found.oracle.sample(SIZE, 4))
    names = np.array([feature for feature, _ in found.truth.columns])
    z, categories = rows[:, :-1][:, names == "z"], rows[:, :-1][:, names == "v"]
    means = set(np.round(z.ravel(), 9)) - {2.0, 1.0, 0.0, 0.25}
    assert len(means) == 1
    assert set(categories.sum(axis=1)) == {0.0, 1.0}


# -- the whole join ----------------------------------------------------------------------------------------------------


def whole(found: Opened) -> Sample:
    drawn = whole_join(found.problem, 1000)
    assert drawn is not None
    return drawn.as_sample(found.problem.plan.design.target, found.oracle.loss.origin)


def test_all_rows_of_a_join_of_several_bags(shared_engine: Engine) -> None:
    """Each as often as in the join: in random worlds, with equal rows counted once in some of them."""
    seen = set()
    for seed in WORLDS:
        wish = Wish(scale="standard" if seed % 4 == 3 else "maxabs", merged=seed % 3 == 0)
        with opened_world(shared_engine, seed, wish, many_to_many=True) as world:
            assert world
            sample = whole(world)
            rows, times = np.unique(np.column_stack([world.truth.x, world.truth.y]), axis=0, return_counts=True)
            distances = np.abs(on_truth(world, sample)[:, None, :] - rows).max(axis=2)
            assert distances.min(axis=1).max() < 1e-12
            assert np.bincount(distances.argmin(axis=1), sample.weights, len(rows)) == pytest.approx(times)
            seen |= kinds(world)
    assert seen == {"missing", "LEFT JOIN", "cycle", "categories", "many-to-many", "foreign key"}


def test_its_cut_is_that_of_a_pass(engine: Engine) -> None:
    """In full precision, with the weights of classes and of equal rows."""
    build(engine, FORK)
    with workspace(engine) as work:
        found = opened(work, FORK_QUERY, Wish(class_weights=(2, 5), merged=True))
        sample = whole(found)
        beta = np.random.default_rng(0).normal(size=found.oracle.dimension)
        passed = found.oracle.pass_(beta, None)
        cut = LocalProblem.of(sample, found.oracle.loss, L2(1e-3)).cut(beta, 0.0)
    assert sample.weights.sum() == pytest.approx(found.problem.moments.n, rel=1e-14)
    assert cut.slope == pytest.approx(passed.slope, rel=1e-12, abs=1e-13)
    assert (cut.offset, cut.value_low) == pytest.approx((passed.offset, passed.value_low), rel=1e-12)


def test_not_every_join_is_read_whole(engine: Engine) -> None:
    build(engine, FORK)
    weighted = f"SELECT a.y, a.times, a.x, b.z, c.v {FROM}"
    cases = [(FORK_QUERY, Wish(), 20), (weighted, Wish(weight="times"), 1000)]
    for text, wish, most in cases:
        with workspace(engine) as work:
            assert whole_join(opened(work, text, wish).problem, most) is None


def test_the_whole_join_is_read_in_the_same_order(postgres: Engine, duckdb: Engine) -> None:
    def read(engine: Engine) -> Sample:
        with workspace(engine) as work:
            return whole(opened(work, FORK_QUERY, Wish()))

    build(postgres, FORK)
    build(duckdb, FORK)
    first = read(postgres)
    turn(postgres, "b")
    assert_same(first, read(postgres))
    assert_same(first, read(duckdb))


# -- the same again ----------------------------------------------------------------------------------------------------


def fork_sample(engine: Engine, seed: int) -> Sample:
    with workspace(engine) as work:
        return open_oracle(work, FORK_QUERY, Wish()).sample(SIZE, seed)


def turn(engine: Engine, table: str) -> None:
    """Stores the rows of a table in another order."""
    copy = f"CREATE TABLE turned AS SELECT * FROM {table} ORDER BY 1 DESC, 2 DESC"
    build(engine, f"{copy}; DROP TABLE {table}; ALTER TABLE turned RENAME TO {table}")


def assert_same(one: Sample, other: Sample) -> None:
    np.testing.assert_array_equal(one.rows.dense(), other.rows.dense())
    np.testing.assert_array_equal(one.signs, other.signs)


@both_ways
def test_a_seed_is_a_sample(postgres: Engine, duckdb: Engine) -> None:
    """To the last row; on another engine, and with the rows of all tables but the label's in another order."""
    build(postgres, FORK)
    build(duckdb, FORK)
    first = fork_sample(postgres, 1)
    assert_same(first, fork_sample(postgres, 1))
    assert_same(first, fork_sample(duckdb, 1))
    for table in "bc":
        turn(postgres, table)
    assert_same(first, fork_sample(postgres, 1))


@both_ways
def test_another_seed_is_another_sample(engine: Engine) -> None:
    build(engine, FORK)
    one, other = fork_sample(engine, 1), fork_sample(engine, 2)
    assert (one.rows.dense() != other.rows.dense()).any(axis=1).mean() > 0.3


# -- no more than that -------------------------------------------------------------------------------------------------


@contextmanager
def watched(oracle: JoinOracle) -> Iterator[dict[str, float]]:
    """The rows that each statement inside kept or answered."""
    rows: dict[str, float] = {}

    def note(statement: Statement, size: float, _: float) -> None:
        rows[statement.name] = size

    oracle.problem.work.on_done = note
    yield rows
    oracle.problem.work.on_done = None


@pytest.mark.usefixtures("in_database")
def test_1e15_rows_are_sampled_from_a_few_thousand(engine: Engine) -> None:
    """7000 rows are joined to 1e15. Each x is a fair coin of its own, so each of the 2^7 combinations is as likely."""
    text = even_chain(engine, tables=7, rows=1000, keys=10)
    with workspace(engine) as work:
        oracle = open_oracle(work, text, Wish(intercept=False))
        assert oracle.problem.moments.n == pytest.approx(1e15, rel=1e-12)
        with watched(oracle) as kept:
            sample = oracle.sample(5120, 1)
    seen = Counter(map(tuple, sample.rows.dense().tolist()))
    expected = 5120 / 2**7
    assert len(seen) == 2**7
    assert sum((n - expected) ** 2 / expected for n in seen.values()) < 2**7 + 5 * np.sqrt(2 * 2**7)
    assert max(kept.values()) == 5120
    assert Counter(name.split()[0] for name in kept) == {"count": 6, "intervals": 6, "drawn": 6, "sample": 7}


def test_small_bags_are_read_whole(engine: Engine) -> None:
    """Once, and their rows are drawn in memory. If they have more than twice the rows that would be drawn of each bag,
    they stay where they are."""
    text = even_chain(engine, tables=7, rows=1000, keys=10)
    with workspace(engine) as work:
        oracle = open_oracle(work, text, Wish(intercept=False))
        with watched(oracle) as kept:
            sample = oracle.sample(5120, 1)
        assert Counter(kept.values()) == {1000: 7}
        with watched(oracle) as kept:
            oracle.sample(400, 1)
    assert {name.split()[0] for name in kept} == {"count", "intervals", "drawn", "sample"}
    seen = Counter(map(tuple, sample.rows.dense().tolist()))
    expected = 5120 / 2**7
    assert sum((n - expected) ** 2 / expected for n in seen.values()) < 2**7 + 5 * np.sqrt(2 * 2**7)


COMPOSITE = """
CREATE TABLE l (i INT, j INT, x INT, y INT); CREATE TABLE r (i INT, j INT, z INT, times INT);
INSERT INTO l VALUES (1, 1, 0, 1), (1, 2, 1, 0), (2, 1, 2, 1), (2, 1, 3, 0), (3, 3, 4, 1), (NULL, 1, 9, 1);
INSERT INTO r VALUES (1, 1, 0, 1), (1, 1, 1, 3), (1, 2, 2, 1), (2, 1, 3, 2), (2, 1, 4, 1000000), (2, 2, 5, 9);
"""


@both_ways
def test_rows_that_meet_on_two_columns(engine: Engine) -> None:
    """Also where one row of a key outweighs all others: the truth has a row for each unit of weight, so count here."""
    build(engine, COMPOSITE)
    text = "SELECT l.y, r.times, l.x, r.z FROM l JOIN r ON r.i = l.i AND r.j = l.j"
    with workspace(engine) as work:
        sample = open_oracle(work, text, Wish(weight="times", scale="none", intercept=False)).sample(SIZE, 1)
    seen = Counter(map(tuple, np.rint(sample.rows.dense()).astype(int).tolist()))
    assert seen.keys() >= {(2, 4), (3, 4)}
    assert seen[2, 4] + seen[3, 4] >= SIZE - 1
    assert abs(seen[2, 4] - SIZE / 2) <= 2


@pytest.mark.usefixtures("in_database")
def test_only_what_the_sample_needs_is_drawn(engine: Engine) -> None:
    """Along a foreign key there is nothing to draw; of e only the number of its rows matters."""
    build(engine, FORK)
    build(engine, "CREATE TABLE d (i INT, q FLOAT); INSERT INTO d VALUES (1, 0.5), (2, 1.5)")
    text = "SELECT a.y, a.x, d.q, c.v FROM a JOIN d ON d.i = a.i JOIN c ON c.j = a.j JOIN e ON e.k = c.k"
    with workspace(engine) as work:
        found = opened(work, text, Wish())
        with watched(found.oracle) as kept:
            sample = found.oracle.sample(SIZE, 1)
        assert_fair([chi_square(found, sample)])
    assert {name for name in kept if name.startswith("intervals")} == {"intervals of c"}
    assert {name for name in kept if name.startswith("drawn")} == {"drawn rows of a"}
    assert {name for name in kept if name.startswith("sample")} == {f"sample of {n}" for n in "acd"}
    assert max(kept[name] for name in kept if name.startswith("intervals")) <= 7


@pytest.mark.usefixtures("in_database")
def test_rows_are_drawn_from_the_node_that_the_label_folds_into(engine: Engine) -> None:
    """The label is in a table that many rows point to. From there, all of these rows would be sorted."""
    build(engine, FORK)
    build(engine, "CREATE TABLE p (i INT PRIMARY KEY, y INT); INSERT INTO p VALUES (1, 0), (2, 1), (5, 1)")
    with workspace(engine) as work:
        found = opened(work, "SELECT p.y, a.x, a.j FROM a JOIN p ON p.i = a.i", Wish())
        with watched(found.oracle) as kept:
            hits, expected = drawn(found, found.oracle.sample(SIZE, 5))
    assert hits.tolist() == expected.tolist() == [1] * 5
    assert len(kept) == 1
    text = "SELECT p.y, a.times, a.x, b.z FROM a JOIN p ON p.i = a.i JOIN b ON b.i = a.i"
    with workspace(engine) as work:
        found = opened(work, text, Wish(weight="times"))
        with watched(found.oracle) as kept:
            assert_fair([chi_square(found, found.oracle.sample(SIZE, 1))])
    assert {name for name in kept if name.startswith("intervals")} == {"intervals of b"}


SNOWFLAKE = {
    "f": "SELECT i % 60 AS a, i % 29 AS b, i % 2 AS y, i / 100.0 AS x FROM numbers",
    "d": "SELECT i AS id FROM numbers WHERE i < 50",
    "e": "SELECT i AS id, i % 5 AS g, i * i AS z FROM numbers WHERE i < 20",
    "g": "SELECT i AS id FROM numbers WHERE i < 4",
}
"""Foreign keys without a partner, to tables with features and to tables without."""


@pytest.mark.parametrize("size", [1000, 40])
def test_rows_without_a_partner_are_not_drawn(engine: Engine, size: int) -> None:
    """Each of the others once where the sample is the whole join; else as many as were asked for, within five standard
    deviations of those that fall away."""
    build(engine, "CREATE TABLE numbers AS SELECT i FROM generate_series(0, 999) AS t(i)")
    for name, rows in SNOWFLAKE.items():
        build(engine, f"CREATE TABLE {name} AS {rows}")
    text = "SELECT y, x, z FROM f JOIN d ON f.a = d.id JOIN e ON f.b = e.id JOIN g ON e.g = g.id"
    with workspace(engine) as work:
        found = opened(work, text, Wish())
        n = int(found.problem.moments.n)
        assert 400 < n < 600
        for seed in range(5):
            sample = found.oracle.sample(size, seed)
            hits, _ = drawn(found, sample)
            assert hits.max() == 1
            assert abs(len(sample.signs) - min(size, n)) <= (0 if size > n else 5 * np.sqrt(size))


MANY_ROWS = """
CREATE TABLE numbers AS SELECT i FROM generate_series(0, 19999) AS t(i);
CREATE TABLE d AS SELECT i AS id, i % 3 AS z FROM numbers WHERE i < 4;
CREATE TABLE o AS SELECT i AS id, i * i AS q FROM numbers WHERE i < 3;
CREATE TABLE f AS SELECT i % 5 AS d, i % 7 AS o, i % 2 AS y, i % 4 AS x FROM numbers
"""
THINNED = "SELECT y, x, z, q FROM f JOIN d ON f.d = d.id LEFT JOIN o ON f.o = o.id WHERE f.x > 0"
"""Rows that WHERE drops, that lack a partner, and that lack one to which they need not have any."""


PARTED = "; ".join([
    "ALTER TABLE f RENAME TO g",
    "CREATE TABLE f (d INT, o INT, y INT, x INT) PARTITION BY LIST (d)",
    *(f"CREATE TABLE f{part} PARTITION OF f FOR VALUES IN ({part})" for part in range(5)),
    "INSERT INTO f SELECT * FROM g",
])  # fmt: skip


def test_a_table_is_thinned(engine: Engine) -> None:
    """As many rows as were asked for, within five standard deviations, each as likely; and another seed's are others.
    The rows are not numbered for that."""
    build(engine, MANY_ROWS)
    plan_of(engine, THINNED, Wish())  # a query is read before the snapshot, which tells DuckDB what is a table
    with workspace(engine) as work:
        found = opened(work, THINNED, Wish(nulls="mean"))
        n, size, sizes, results = int(found.problem.moments.n), 3000, [], []
        with texts(work) as sent:
            for seed in range(8):
                sample = found.oracle.sample(size, seed)
                results.append(chi_square(found, sample))
                sizes.append(len(sample.signs))
    assert n == 12_000
    assert_fair(results)
    assert max(abs(s - size) for s in sizes) < 5 * np.sqrt(size * (1 - size / n))
    assert len(set(sizes)) > 1
    assert ["TABLESAMPLE" in text for text in sent] == [engine.dialect == "postgres"] * 8
    assert all("ROW_NUMBER" not in text for text in sent)
    assert all("OFFSET" not in text for text in sent)  # the planner may choose when to join


def test_a_seed_thins_alike(engine: Engine) -> None:
    """The rows; the threads of DuckDB may hand them over in another order."""
    build(engine, MANY_ROWS)
    plan_of(engine, THINNED, Wish())
    samples = []
    for seed in (1, 1, 2):
        with workspace(engine) as work:
            samples.append(open_oracle(work, THINNED, Wish(nulls="mean")).sample(3000, seed))
    if engine.dialect == "postgres":
        assert_same(samples[0], samples[1])
    rows = [sorted(np.column_stack([s.rows.dense(), s.signs]).tolist()) for s in samples]
    assert rows[0] == rows[1]
    assert rows[0] != rows[2]


GROUPED = "SELECT q.y, q.x, d.z FROM (SELECT y, k, b, MAX(x) AS x FROM f GROUP BY y, k, b) q JOIN d ON d.k"
COPIED = "SELECT e.k IS NOT NULL AS y, f.x, d.z FROM f JOIN d ON d.k = f.k LEFT JOIN d AS e ON e.k = f.b * f.b"


@pytest.mark.parametrize("text", [f"{GROUPED} = q.k", f"{GROUPED} = q.b", COPIED])
def test_threads_do_not_choose_the_rows(duckdb: Engine, text: str) -> None:
    """They put the groups of a sub-query in any order, and the rows of a copy that joins. Along a foreign key rows are
    numbered, else laid end to end."""
    x = "CAST(hash(i) % 1000 AS DOUBLE) AS x"
    build(
        duckdb,
        f"CREATE TABLE f AS SELECT i % 2 AS y, hash(i) % 997 AS k, hash(-i) % 90 AS b, {x} FROM range(300000) r(i)",
    )
    build(duckdb, "CREATE TABLE d AS SELECT i % 997 AS k, i / 8.0 AS z FROM range(997) AS r(i)")
    if text.endswith("q.b"):
        build(duckdb, "INSERT INTO d SELECT k, -z FROM d")
    drawn = []
    for threads in (1, 2, 4):
        typed(duckdb, parse_one(f"SET threads = {threads}", read="duckdb"))
        with workspace(duckdb) as work:
            found = open_oracle(work, text, Wish()).sample(3000, 1)
        drawn.append(sorted(np.column_stack([found.rows.dense(), found.signs]).tolist()))
    assert drawn[0] == drawn[1] == drawn[2]


def test_equal_rows_are_drawn_as_often_as_all_of_them(duckdb: Engine) -> None:
    """A view is read in any order, so its rows are laid down by their hashes: the same ones side by side."""
    kinds = "CASE WHEN i < 100 THEN 1 WHEN i < 2100 THEN 2 WHEN i < 5000 THEN 3 END"
    build(duckdb, f"CREATE TABLE g AS SELECT i % 2 AS y, {kinds} AS x, i % 2 AS k FROM range(10000) AS r(i)")
    build(duckdb, "CREATE VIEW f AS SELECT * FROM g")
    build(duckdb, "CREATE TABLE d AS SELECT i AS k, 3.0 * i AS z FROM range(2) AS r(i)")
    with workspace(duckdb) as work:
        found = opened(work, "SELECT f.y, f.x, d.z FROM f JOIN d ON d.k = f.k", Wish(nulls="mean"))
        with texts(work) as sent:
            sample = found.oracle.sample(3000, 1)
        hits, expected = drawn(found, sample)
    assert len(sample.signs) == 3000
    assert len(hits) == 8
    assert np.abs(hits - expected).max() < 2
    assert [text.count("ROW_NUMBER") for text in sent] == [1, 0]


@pytest.mark.parametrize(
    ("view", "twice"),
    [
        ("SELECT y, k, x / 3 AS x FROM g WHERE x > 1.5", True),
        ("SELECT g.y, g.k, g.x + d.z AS x FROM g JOIN d ON d.k = g.k", True),
        ("SELECT * FROM summed", False),
        ("SELECT y, k, third(x) AS x FROM g", False),
        ("SELECT ANY_VALUE(y) AS y, ANY_VALUE(k) AS k, AVG(x) AS x FROM g GROUP BY i // 10", False),
    ],
)
def test_rows_whose_values_may_differ_are_read_once(duckdb: Engine, view: str, twice: bool) -> None:
    """A sum of doubles depends on the order in which threads add: then a hash that was hit might be found nowhere."""
    x = "(hash(i) % 1000003) / 7.0 AS x"
    typed(duckdb, f"CREATE TABLE g AS SELECT i, i // 10 % 2 AS y, i // 10 % 9 AS k, {x} FROM range(300000) AS r(i)")
    build(duckdb, "CREATE TABLE d AS SELECT i AS k, 3.0 * i AS z FROM range(9) AS r(i)")
    build(duckdb, "CREATE VIEW summed AS SELECT y, k, x, SUM(x) OVER (PARTITION BY k) AS s FROM g")
    typed(duckdb, "CREATE MACRO third(a) AS a / 3.0")
    typed(duckdb, f"CREATE VIEW f AS {view}")
    with workspace(duckdb) as work:
        found = opened(work, "SELECT f.y, f.x, d.z FROM f JOIN d ON d.k = f.k", Wish())
        with texts(work) as sent:
            sizes = [len(found.oracle.sample(3000, seed).signs) for seed in (1, 2)]
    assert sizes == [3000, 3000]
    assert len(sent) == (4 if twice else 2)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE f RENAME TO g; CREATE VIEW f AS SELECT * FROM g",
        "ALTER TABLE f RENAME TO g; CREATE TABLE f (y INT) INHERITS (g); INSERT INTO g SELECT 1, 1, 1, 1 FROM numbers",
        PARTED,
    ],
)
def test_what_cannot_be_thinned_is_numbered(postgres: Engine, change: str) -> None:
    """A view; a table that others inherit from, for those may be anything; parts, of which all keep the same places."""
    build(postgres, MANY_ROWS)
    for statement in change.split("; "):
        typed(postgres, statement)
    text = THINNED.replace("FROM f", "FROM g AS f") if "INHERITS" in change else THINNED
    with workspace(postgres) as work:
        found = opened(work, text, Wish(nulls="mean"))
        with texts(work) as sent:
            assert_fair([chi_square(found, found.oracle.sample(3000, 1))])
    assert len(sent) == 1
    assert "ROW_NUMBER" in sent[0]
    assert "TABLESAMPLE" not in sent[0]


@contextmanager
def texts(work: Workspace) -> Iterator[list[str]]:
    """What is sent for each sample inside."""
    found: list[str] = []
    work.on_done = lambda statement, _rows, _seconds: found.append(work.engine.text(statement.query))
    yield found
    work.on_done = None


def test_more_columns_than_a_row_may_have(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 features, all with a NULL, are 60 columns: two answers."""
    monkeypatch.setattr("sqlsvm.compile.joined.WIDEST", 50)
    rng, names = np.random.default_rng(0), {t: [f"{t}{i}" for i in range(10)] for t in "fgh"}
    rows = {t: np.ma.MaskedArray(rng.normal(size=(20, 10)), mask=np.arange(200).reshape(20, 10) < 10) for t in names}
    for t, columns in names.items():
        label = {"y": np.arange(20) % 2} if t == "f" else {}
        typed = ["k INT", *(f"{c} INT" for c in label), *(f"{c} FLOAT8" for c in columns)]
        build(engine, f"CREATE TABLE {t} ({', '.join(typed)})")
        engine.copy_in(meant(engine, t), {"k": np.arange(20), **label, **dict(zip(columns, rows[t].T, strict=True))})
    every = ", ".join(c for columns in names.values() for c in columns)
    text = f"SELECT y, {every} FROM f JOIN g ON g.k = f.k JOIN h ON h.k = f.k"
    with workspace(engine) as work:
        wish = Wish(intercept=False, scale="none", nulls="mean")
        sample = open_oracle(work, text, wish).sample(1000, 0)
    truth = np.column_stack([r.filled(r[1:].mean(axis=0)) for r in rows.values()])
    places = [int(np.abs(truth - row).max(axis=1).argmin()) for row in sample.rows.numbers]
    assert sorted(places) == list(range(20))
    assert np.abs(sample.rows.numbers - truth[places]).max() < 1e-6
    assert sample.signs.tolist() == [2.0 * (place % 2) - 1.0 for place in places]


@both_ways
def test_the_sample_fits_in_memory(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rows rather than more numbers than that."""
    monkeypatch.setattr(sqlsvm.run.sampling, "LARGEST_SAMPLE", 100)
    build(engine, FORK)
    sample = fork_sample(engine, 1)
    assert sample.rows.dense().shape == (100 // 5, 5)
    assert sample.signs.shape == sample.weights.shape == (100 // 5,)


@both_ways
def test_nothing_of_it_stays(engine: Engine) -> None:
    build(engine, FORK)
    with workspace(engine) as work:
        oracle = open_oracle(work, FORK_QUERY, Wish())
        before = tables(engine)
        oracle.sample(SIZE, 1)
        assert tables(engine) == before
