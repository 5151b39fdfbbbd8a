"""The paper's two counting queries over random schemas, against the rows of the naive join."""

import numpy as np
import pytest

from sqlsvm.engine.base import Engine, Values
from sqlsvm.errors import OptionError
from sqlsvm.lab.ask.counting import Count, generalised, row_counts
from sqlsvm.plan.constraints import read_beta
from sqlsvm.plan.plan import Method
from sqlsvm.run.workspace import workspace
from tests.ground import svm
from tests.ground.opened import Opened, Wish, build, joined, opened, opened_world, spelled
from tests.ground.reference import Joined
from tests.ground.schemas import random_world
from tests.sized import sized

SEEDS = range(7)
BOUNDS = (1.0, 0.0, -0.5)


def named(engine: Engine, count: Count) -> tuple[str, object, int]:
    value = count.value if count.value is None or isinstance(count.value, float) else spelled(count.value)
    return engine.fold(count.feature, True), value, count.label


def assert_counts(engine: Engine, found: Opened, rows: Joined, beta: Values, bounds: tuple[float, ...]) -> None:
    truth = svm.design_matrix(rows, "mean")
    assert truth.columns == found.truth.columns
    for bound in bounds:
        got = {named(engine, c): c.count for c in row_counts(found.problem, found.on_oracle(beta), bound)}
        wanted = svm.row_counts(rows, truth, beta, bound)
        assert got == {(engine.fold(f, True), v, y): n for (f, v, y), n in wanted.items()}


@pytest.mark.thin(5)
@pytest.mark.parametrize("method", ["exact", "grid"])
@pytest.mark.parametrize("seed", SEEDS)
def test_row_counts(shared_engine: Engine, method: Method, seed: int) -> None:
    """On dyadic features and weights the grid rounds nothing away, so even it counts exactly; ties are no hits."""
    engine = shared_engine
    rng = np.random.default_rng(seed)
    world = random_world(rng, max_relations=4, nulls=False, left_joins=False)
    assert world.label
    wish = Wish(label=world.label.name, method=method, copied=seed % 2 == 0)
    with world.created(engine) as live, workspace(engine) as work:
        rows = joined(engine, live.query(engine.dialect), wish)
        if not rows.rows:
            return  # an empty join is refused before anybody counts
        found = opened(work, live.query(engine.dialect), wish)
        assert_counts(engine, found, rows, found.dyadic(rng), BOUNDS)


@pytest.mark.parametrize("seed", range(20, 24))
def test_a_missing_value_is_a_value(shared_engine: Engine, seed: int) -> None:
    """A NULL counts as the mean of the others and is reported as NULL, a missing match of a LEFT JOIN included."""
    engine = shared_engine
    rng = np.random.default_rng(seed)
    world = random_world(rng, max_relations=3)
    assert world.label
    wish = Wish(label=world.label.name, method="exact")
    with world.created(engine) as live, workspace(engine) as work:
        rows = joined(engine, live.query(engine.dialect), wish)
        if not rows.rows:
            return  # an empty join is refused before anybody counts
        found = opened(work, live.query(engine.dialect), wish)
        assert_counts(engine, found, rows, np.zeros(len(found.truth.columns)), (1.0,))


@pytest.mark.thin(5)
@pytest.mark.parametrize("method", ["exact", "grid"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("epsilon", [1e-9, 0.5])
def test_thresholds(shared_engine: Engine, method: Method, seed: int, epsilon: float) -> None:
    """H_k is the largest threshold that f_k rows reach; with a tiny epsilon that is every single row, sorted. The grid
    moves a score by half a bucket per bag at most."""
    rng = np.random.default_rng(seed)
    with opened_world(shared_engine, seed, Wish(method=method), continuous=True) as found:
        if found is None:
            return  # an empty join is refused before anybody counts
        beta = found.normal(rng) / 2
        slack = 1e-9 if method == "exact" else len(found.plan.bags) / 2 / 64 + 1e-9
        answers = list(generalised(found.problem, found.on_oracle(beta), epsilon, 64))
        for label in (-1, 1):
            mine = [t for t in answers if t.label == label]
            levels = np.array([t.count for t in mine], dtype=int)
            assert [t.k for t in mine] == list(range(len(mine)))
            truth = svm.thresholds(found.truth, beta, label, levels)
            np.testing.assert_allclose([t.threshold for t in mine], truth, atol=slack)
            rows = int(np.sum(found.truth.y == label))
            assert (levels[-1] if rows else 0) <= rows
            assert epsilon > 1e-3 or len(levels) == rows


def test_thresholds_do_not_make_the_join(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    build(engine, "CREATE TABLE f (k INT, y INT, x INT); CREATE TABLE g (k INT, z INT)")
    build(engine, "INSERT INTO f VALUES (1, 1, 1), (1, 0, 2), (1, 1, 3); INSERT INTO g VALUES (1, 4), (1, 5), (1, 6)")
    text = "SELECT f.y, f.x, g.z FROM f JOIN g ON g.k = f.k"
    beta = np.array([0.0, 1.0, 10.0])
    with workspace(engine) as work:
        problem = opened(work, text, Wish()).problem
        assert len(list(generalised(problem, beta, 0.5))) > 2
        sized(monkeypatch, listed=8)
        with pytest.raises(OptionError, match="exact thresholds would sort 9 pairs of scores\nHINT: counting='sketch'"):
            list(generalised(problem, beta, 0.5))


# -- beta as people write it -------------------------------------------------------------------------------------------

SHOP = """
CREATE TABLE shop (y BOOLEAN, price DOUBLE PRECISION, colour TEXT);
INSERT INTO shop VALUES (TRUE, 1.0, 'red'), (FALSE, 2.0, 'it''s blue'), (TRUE, 3.0, NULL)
"""


def shop(engine: Engine) -> Joined:
    build(engine, SHOP)
    return joined(engine, "SELECT y, price, colour FROM shop", Wish())


def test_beta_by_name(engine: Engine) -> None:
    shop(engine)
    with workspace(engine) as work:
        found = opened(work, "SELECT y, price, colour FROM shop", Wish())
        given = {"intercept": 0.5, "weights": {"price": -1, "colour": {"it's blue": 2.0}}}
        beta = read_beta(found.problem.scaling, given)
        assert {(e.feature, e.category): beta[e.place] for e in found.problem.scaling.elements()} == {
            ("", None): 0.5,
            ("price", None): -1.0,
            ("colour", "red"): 0.0,
            ("colour", "it's blue"): 2.0,
        }
        counts = {(c.feature, c.value, c.label): c.count for c in row_counts(found.problem, beta)}
        assert counts == {
            ("price", 1.0, 1): 1,
            ("price", 3.0, 1): 1,
            ("price", 2.0, -1): 1,
            ("colour", "red", 1): 1,
            ("colour", None, 1): 1,
            ("colour", "it's blue", -1): 1,
        }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": {"prise": 1.0}}, "beta has a weight for prise, which is not a feature\nHINT: did you mean price?"),
        ({"weights": {"price": "1"}}, "the weight of price is not a number: '1'"),
        (
            {"weights": {"colour": 1.0}},
            'the weight of the categorical feature colour is one number\nHINT: write {"colour": {"VALUE": 0.1}}',
        ),
        ({"intercept": True}, "the weight of intercept is not a number: True"),
    ],
)
def test_beta_refused(duckdb: Engine, given: dict[str, object], message: str) -> None:
    shop(duckdb)
    with workspace(duckdb) as work:
        found = opened(work, "SELECT y, price, colour FROM shop", Wish())
        with pytest.raises(OptionError) as refused:
            read_beta(found.problem.scaling, given)
        assert str(refused.value) == message
