"""Passes over random schemas against the naive join: what they count, and what they prove."""

from collections.abc import Callable

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.oracle import halves
from sqlsvm.compile.tally import Tally, active_table
from sqlsvm.engine.base import Engine, Values
from sqlsvm.plan.parameters import BOUND, BUCKETS, THETA
from sqlsvm.run.workspace import workspace
from sqlsvm.solve.oracle import Cut
from tests.ground import svm
from tests.ground.opened import Opened, Wish, build, is_clear, opened, opened_world, ties
from tests.ground.schemas import Wishes
from tests.ground.world import noted

SCALES: tuple[svm.Scale, ...] = ("none", "standard", "maxabs")
HEIGHTS = (1, 3, 16, 64)
MANY: Wishes = {"many_to_many": True, "nulls": False, "left_joins": False}

Check = Callable[[Opened, np.random.Generator], float]


def over_worlds(engine: Engine, seeds: range, wish: Wish, wishes: Wishes, check: Check) -> list[float]:
    """What `check` found in each world whose join has rows."""
    found = []
    for seed in seeds:
        with noted(f"seed {seed}"), opened_world(engine, seed, wish, **wishes) as world:
            if world:
                found.append(check(world, np.random.default_rng(seed)))
    assert len(found) >= len(seeds) / 3
    return found


def assert_exact(found: Opened, beta: Values, *, clear: bool) -> None:
    """N and R always; a and b where it is certain which rows are active."""
    cut, hinge = found.cut(beta), found.hinge(beta)
    assert found.problem.moments.n == len(found.truth.y)
    assert cut.error == 0
    assert cut.value_low == pytest.approx(hinge.value, rel=1e-9, abs=1e-12)
    if clear:
        assert cut.offset == pytest.approx(hinge.b, rel=1e-9)
        np.testing.assert_allclose(cut.slope, hinge.a, rtol=1e-9, atol=1e-12)


# -- exact -------------------------------------------------------------------------------------------------------------


def test_exact_at_the_hinge_itself(shared_engine: Engine) -> None:
    """Features and beta on a grid of halves: scores are exact, so a row with y score = 1 is told apart from both of
    its neighbours, and many rows are such rows."""

    def check(found: Opened, rng: np.random.Generator) -> float:
        tied = 0
        for beta in (found.dyadic(rng) for _ in range(2)):
            assert_exact(found, beta, clear=True)
            tied += ties(found.truth, beta) > 0 and found.plan.centre is not None
        return tied

    tied = over_worlds(shared_engine, range(8), Wish(nulls="drop"), {}, check)
    assert sum(tied) >= 2


@pytest.mark.parametrize("scale", SCALES)
def test_exact_on_anything(shared_engine: Engine, scale: svm.Scale) -> None:
    """NULLs, LEFT JOINs, categories, cycles and evil names; scores that differ in the last bit from the naive ones."""
    seeds = range(100 + 3 * SCALES.index(scale), 103 + 3 * SCALES.index(scale))

    def check(found: Opened, rng: np.random.Generator) -> float:
        beta = found.normal(rng)
        assert_exact(found, beta, clear=is_clear(found.truth, beta))
        return 0

    over_worlds(shared_engine, seeds, Wish(scale=scale), {"continuous": scale != "none"}, check)


@pytest.mark.slow
def test_soft_cuts_count_rows_near_the_hinge_in_part(shared_engine: Engine) -> None:
    """With one bag. The slope, the offset and R itself are those of the materialised join, and the cut is one."""

    def check(found: Opened, rng: np.random.Generator) -> float:
        if not found.oracle.soft:
            return 0
        beta, width = found.normal(rng), float(rng.choice([0.1, 1.0, 3.0]))
        cut, z = found.cut(beta, width=width), 1 - found.truth.y * (found.truth.x @ beta)
        share = np.clip((z + width) / (2 * width), 0, 1)
        assert cut.offset == pytest.approx(share.mean(), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(cut.slope, -(share * found.truth.y) @ found.truth.x / len(z), rtol=1e-9, atol=1e-12)
        assert cut.value_low == pytest.approx(found.hinge(beta).value, rel=1e-9, abs=1e-12)
        assert (cut.error, cut.width) == (0, width)
        assert_minorant(found, beta, cut, rng)
        return float(np.sum((share > 0) & (share < 1)))

    wishes: Wishes = {"many_to_many": False, "max_rows": 40}
    assert sum(over_worlds(shared_engine, range(150, 158), Wish(scale="standard"), wishes, check)) > 20


# -- grid --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("continuous", [False, True])
def test_grid_cuts_are_valid_and_certified(shared_engine: Engine, continuous: bool, few: float) -> None:
    split = set()

    def check(found: Opened, rng: np.random.Generator) -> float:
        if found.plan.centre is None:
            return 0.0
        beta = found.normal(rng)
        split.add(found.oracle.roundings(beta, 1) + found.oracle.even > halves(found.plan))
        cuts = {height: found.cut(beta, height) for height in HEIGHTS}
        for height, cut in cuts.items():
            assert_certified(found, beta, cut, height)
            assert_minorant(found, beta, cut, rng)
        return cuts[1].error - cuts[64].error

    seeds = range(200, 203) if continuous else range(210, 213)
    finer = over_worlds(shared_engine, seeds, Wish(method="grid"), {**MANY, "continuous": continuous}, check)
    assert sum(finer) > 0
    assert few < np.inf or True in split


def test_the_error_of_a_coarse_pass_is_far_below_the_worst_case(engine: Engine) -> None:
    """All rows within delta of the hinge could be on its other side. What they are off by says that few are."""
    rng, text = np.random.default_rng(4), chain_of_numbers(engine)
    with workspace(engine) as work:
        found = opened(work, text, Wish(method="grid"))
        beta, buckets = found.normal(rng) / 4, 8
        cut = found.cut(beta, buckets)
        assert_certified(found, beta, cut, buckets)
        z = 1 - found.truth.y * (found.truth.x @ beta)
        worst = np.maximum(0, 1.5 / buckets - np.abs(z)).mean()
        missed = found.hinge(beta).value - cut.value_low
    assert 0 < missed <= cut.error < 0.25 * worst


def test_the_table_of_the_label_has_no_scores(engine: Engine) -> None:
    """They cannot be rounded down, so a total of 0 is in the middle of a bucket."""
    rng, text = np.random.default_rng(5), chain_of_numbers(engine).replace(", m.x AS b", "")
    with workspace(engine) as work:
        found = opened(work, text, Wish(method="grid", intercept=False))
        assert not found.oracle.even
        for beta in (found.normal(rng) for _ in range(3)):
            for height in HEIGHTS:
                cut = found.cut(beta, height)
                assert_certified(found, beta, cut, height)
                assert_minorant(found, beta, cut, rng)


@pytest.mark.usefixtures("few")
def test_a_table_with_a_category_that_is_always_missing(engine: Engine) -> None:
    text = chain_of_numbers(engine).replace(", r.x AS c", ", NULLIF(r.j, r.j)::text AS none")
    with workspace(engine) as work:
        found = opened(work, text, Wish(method="grid"))
        assert [d.categories for d in found.plan.design.dictionaries] == [()]
        beta = found.normal(np.random.default_rng(6))
        assert_certified(found, beta, found.cut(beta, 8), 8)


def test_a_cut_on_the_grid_may_be_off_by_as_much_for_any_oracle(engine: Engine) -> None:
    """As a training is continued with its cuts, also by exact counting."""
    text = chain_of_numbers(engine)
    with workspace(engine) as work:
        found = opened(work, text, Wish(method="grid"))
        beta = found.normal(np.random.default_rng(7))
        grid, exact = found.cut(beta, 8), found.again(method="exact")
        asked = ((found, grid), (exact, grid), (exact, exact.cut(beta)))
        first, other, own = (at.oracle.rounding.share * at.oracle.size(beta, cut)[0] for at, cut in asked)
        assert other >= first > own


def chain_of_numbers(engine: Engine) -> str:
    """Three tables of 60 rows with 6 keys each."""
    rng = np.random.default_rng(3)
    keys = {"l": ("i",), "m": ("i", "j"), "r": ("j",)}
    for name, own in keys.items():
        columns = {key: rng.integers(0, 6, 60).tolist() for key in own} | {"x": rng.normal(size=60).tolist()}
        columns |= {"y": rng.choice([-1, 1], 60).tolist()} if name == "m" else {}
        types = ", ".join(f"{column} {'DOUBLE PRECISION' if column == 'x' else 'INT'}" for column in columns)
        rows = ", ".join(str(row) for row in zip(*columns.values(), strict=True))
        build(engine, f"CREATE TABLE {name} ({types}); INSERT INTO {name} VALUES {rows}")
    return "SELECT m.y, l.x AS a, m.x AS b, r.x AS c FROM m JOIN l ON l.i = m.i JOIN r ON r.j = m.j"


def assert_certified(found: Opened, beta: Values, cut: Cut, height: int) -> None:
    """R_low <= R <= R_low + E, and E is no more than half a bucket for each rounding."""
    truth = found.hinge(beta).value
    assert cut.value_low == pytest.approx(cut.offset + cut.slope @ beta, rel=1e-9, abs=1e-12)
    assert cut.value_low <= truth + 1e-9
    assert truth <= cut.value_low + cut.error + 1e-9
    assert 0 <= cut.error <= found.oracle.roundings(beta, height) / height / 2 + 1e-12


def assert_minorant(found: Opened, beta: Values, cut: Cut, rng: np.random.Generator) -> None:
    for _ in range(20):
        there = beta * rng.uniform(0, 2) + rng.normal(size=len(beta)) * rng.choice([0.01, 0.5, 5])
        assert found.hinge(there).value >= cut.offset + cut.slope @ there - 1e-9


@pytest.mark.parametrize("method", ["grid", "exact"])
def test_the_active_set_is_the_same_from_everywhere(shared_engine: Engine, method: str) -> None:
    """Another root, another centre: the same rows are counted, so a and b agree. b is made of whole numbers, hence to
    the last bit; a adds its terms in another order."""

    def check(found: Opened, rng: np.random.Generator) -> float:
        beta = found.dyadic(rng) if method == "exact" else found.normal(rng)
        first, compared = found.cut(beta, 3), 0
        for root in range(len(found.plan.tree.nodes)):
            for centre in range(len(found.plan.tree.rerooted(root).links)):
                other = found.rooted(root, centre)
                if bags(other) == bags(found):  # other bags are rounded otherwise
                    compared += 1
                    assert_same(other.cut(beta, 3), first)
        return compared

    seeds = range(300, 303) if method == "grid" else range(304, 307)
    compared = over_worlds(shared_engine, seeds, Wish(method="grid" if method == "grid" else "exact"), MANY, check)
    assert sum(compared) >= 8


def bags(found: Opened) -> set[frozenset[int]]:
    return {frozenset(bag.nodes) for bag in found.plan.bags}


def assert_same(cut: Cut, other: Cut) -> None:
    assert cut.offset == other.offset
    np.testing.assert_allclose(cut.slope, other.slope, rtol=1e-12, atol=1e-14)
    assert cut.error == pytest.approx(other.error, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("method", ["grid", "exact"])
def test_every_bag_counts_the_same_join_rows(shared_engine: Engine, method: str) -> None:
    """The number of counted join rows, hence the intercept's sum, is the same whole number seen from every bag."""

    def check(found: Opened, rng: np.random.Generator) -> float:
        oracle = found.oracle
        if oracle.problem.plan.centre is None:
            return 0
        theta = oracle.problem.scaling.to_raw(rng.normal(size=oracle.dimension))
        with oracle.problem.work.scratch():
            counted = Tally(oracle.problem.plan, signed=True).active()
            oracle.problem.work.run(counted, {THETA: theta, BOUND: 1.0, BUCKETS: 3.0})
            seen = {counted_rows(oracle.problem.work.engine, bag.number) for bag in oracle.problem.plan.bags}
        assert len(seen) == 1
        return float(seen.pop())

    wish = Wish(method="grid" if method == "grid" else "exact")
    assert max(over_worlds(shared_engine, range(400, 403), wish, MANY, check)) > 10


def counted_rows(engine: Engine, bag: int) -> float:
    total = sql.coalesce(sql.total(sql.column("c")), sql.number(0))
    return float(engine.fetch(sql.select([(total, "n")], exp.to_table(active_table(bag))))["n"][0])
