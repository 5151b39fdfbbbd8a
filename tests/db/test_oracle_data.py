"""Passes over one small shop: every option of the data and of the model, against the rows of the query itself."""

from dataclasses import replace

import numpy as np
import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, only_finite
from sqlsvm.plan.plan import Method
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem
from sqlsvm.run.workspace import workspace
from tests.ground import svm
from tests.ground.opened import Opened, Wish, build, is_clear, opened, truth
from tests.typed import meant

pytestmark = pytest.mark.twin

SHOP = """
CREATE TABLE sales (store INT, item INT, y BOOLEAN, qty DOUBLE PRECISION, times INT, sold TEXT);
CREATE TABLE stores (store INT, size DOUBLE PRECISION, open BOOLEAN, city TEXT, region INT);
CREATE TABLE offers (item INT, price DECIMAL(8, 2), colour TEXT);
CREATE TABLE discounts (store INT, rate DOUBLE PRECISION);
INSERT INTO stores VALUES
    (1, 2, TRUE, 'O''Hare', 7), (2, NULL, FALSE, 'a "b" $1 \\ %s', 8), (3, -1.5, NULL, NULL, NULL),
    (4, 0.25, TRUE, 'Zürich 日本 😀', 7), (5, 9, TRUE, 'nobody sells here', 9);
INSERT INTO offers VALUES
    (1, 0.5, 'red'), (1, 1.25, 'blue'), (1, NULL, 'red'), (2, -0.75, ''), (2, 2, ' red'), (9, 9, 'x');
INSERT INTO discounts VALUES (1, 0.5), (2, NULL), (6, 3)
"""
FROM = """FROM sales s JOIN stores st ON st.store = s.store JOIN offers o ON o.item = s.item
    LEFT JOIN discounts d ON d.store = s.store"""
OUTPUTS = "s.qty, st.size, st.open, st.city, st.region, o.price, o.colour, d.rate"
QUERY = f"SELECT s.y, {OUTPUTS} {FROM}"
WEIGHED = f"SELECT s.y, s.times, {OUTPUTS} {FROM}"

WISHES = {
    "read in place": Wish(nulls="mean"),
    "standard": Wish(scale="standard"),
    "maxabs without intercept": Wish(scale="maxabs", intercept=False),
    "standard without intercept": Wish(scale="standard", intercept=False),
    "without the rows with NULLs": Wish(nulls="drop"),
    "class weights": Wish(class_weights=(2, 5), scale="standard"),
    "copied, integers as categories": Wish(copied=True, categorical=("region",), tables=True),
    "merged, weighed": Wish(merged=True, weight="times", class_weights=(3, 1), scale="standard"),
    "all at once": Wish(nulls="drop", weight="times", class_weights=(1, 3), categorical=("region",), scale="standard"),
}


@pytest.fixture(scope="module")
def shop(shared_engine: Engine) -> Engine:
    script = [f"DROP TABLE IF EXISTS {name};" for name in ("sales", "stores", "offers", "discounts")]
    build(shared_engine, "".join(script) + SHOP)
    rng = np.random.default_rng(5)
    rows = {
        "store": rng.integers(1, 6, 40),
        "item": rng.integers(1, 4, 40),
        "y": rng.integers(0, 2, 40).astype(bool),
        "qty": rng.integers(-4, 5, 40) / 4,
        "times": rng.integers(0, 4, 40),
        "sold": np.array(["yes", "no"], dtype=object)[rng.integers(0, 2, 40)],
    }
    shared_engine.copy_in(meant(shared_engine, "sales"), rows)
    return shared_engine


@pytest.mark.parametrize("name", WISHES)
def test_exact(shop: Engine, name: str) -> None:
    wish = WISHES[name]
    with workspace(shop) as work:
        found = opened(work, WEIGHED if wish.weight else QUERY, wish)
        assert_exact(found)


def assert_exact(found: Opened) -> None:
    rng = np.random.default_rng(1)
    assert found.problem.moments.n == len(found.truth.y) > 5
    for beta in (found.normal(rng), np.zeros(len(found.truth.columns))):
        cut, hinge = found.cut(beta), found.hinge(beta)
        assert is_clear(found.truth, beta)
        assert cut.value_low == pytest.approx(hinge.value, rel=1e-9)
        assert cut.offset == pytest.approx(hinge.b, rel=1e-9)
        np.testing.assert_allclose(cut.slope, hinge.a, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["standard", "all at once"])
def test_grid(shop: Engine, name: str) -> None:
    wish = replace(WISHES[name], method="grid")
    rng = np.random.default_rng(2)
    with workspace(shop) as work:
        found = opened(work, WEIGHED if wish.weight else QUERY, wish)
        beta = found.normal(rng)
        truth = found.hinge(beta).value
        for buckets in (1, 256):
            cut = found.cut(beta, buckets)
            assert cut.value_low - 1e-9 <= truth <= cut.value_low + cut.error + 1e-9
            for there in rng.normal(size=(20, len(beta))):
                assert found.hinge(there).value >= cut.offset + cut.slope @ there - 1e-9
        assert cut.error < 1e-2


def test_a_label_of_two_words(shop: Engine) -> None:
    text = f"SELECT s.sold, {OUTPUTS} {FROM}"
    slopes = []
    for positive, side in (("yes", 1), ("no", -1)):
        with workspace(shop) as work:
            found = opened(work, text, Wish(label="sold", positive=positive))
            assert_exact(found)
            slopes.append(side * found.cut(side * found.normal(np.random.default_rng(3))).slope)
    yes, no = slopes
    np.testing.assert_allclose(yes, no, rtol=1e-9, atol=1e-12)


def test_a_label_that_lives_in_a_dimension(shop: Engine) -> None:
    with workspace(shop) as work:
        assert_exact(opened(work, f"SELECT o.price > 1 AS y, s.qty, st.size, d.rate {FROM} WHERE o.price > -9", Wish()))


@pytest.mark.parametrize(
    "wish",
    [
        Wish(nulls="mean", scale="standard"),
        Wish(copied=True, weight="times", class_weights=(3, 1)),
        Wish(method="grid"),
    ],
)
def test_a_label_behind_a_left_join(shop: Engine, wish: Wish) -> None:
    """Its table is joined up front with the one that it hangs from. The copy may leave out what has no partner: the
    region 7 is the only one here, and no row of two shops is in the join."""
    areas = "(SELECT 7 AS region, 0.5 AS tax UNION ALL SELECT 10, 0.25) AS a"
    text = f"""SELECT d.store IS NOT NULL AS y, {"s.times, " if wish.weight else ""}s.qty, st.size, st.city, a.tax FROM
        sales s JOIN stores st ON st.store = s.store JOIN {areas} ON a.region = st.region
        LEFT JOIN discounts d ON d.store = s.store"""
    with workspace(shop) as work:
        found = opened(work, text, wish)
        assert_exact(found)
        plan = found.problem.plan
        assert plan.tree.nodes[plan.label_node] == ("s", "d")
        assert [plan.tree.name(child) for child in plan.met] == ([] if wish.looked else ["st"])


@pytest.mark.parametrize("scale", ["standard", "maxabs"])
def test_a_feature_that_says_nothing(shop: Engine, scale: svm.Scale) -> None:
    """A constant has no width to be divided by. The intercept meets the hinge for all rows of a label at once."""
    with workspace(shop) as work:
        found = opened(work, f"SELECT s.y, s.qty * 0 AS nothing, s.qty - s.qty + 3 AS three {FROM}", Wish(scale=scale))
        for c in (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0):
            beta = np.array([c, 7.0, 0.0])
            assert found.cut(beta).value_low == pytest.approx(found.hinge(beta).value)


@pytest.mark.twin(False)
def test_where_no_row_is_active_the_cut_is_zero(engine: Engine) -> None:
    """Also for what folds without a key: SQL sums no rows to one NULL."""
    build(
        engine,
        """
        CREATE TABLE f (y INT, x FLOAT); INSERT INTO f VALUES (1, 2), (-1, -2);
        CREATE TABLE one (colour TEXT, z FLOAT); INSERT INTO one VALUES ('red', 1)
        """,
    )
    with workspace(engine) as work:
        found = opened(work, "SELECT f.y, f.x, one.colour, one.z FROM f CROSS JOIN one", Wish())
        cut = found.cut(np.array([0.0, 5.0, 0.0, 0.0]))
        assert (cut.offset, cut.value_low, cut.slope.tolist()) == (0, 0, [0, 0, 0, 0])


@pytest.mark.parametrize("output", ["s.qty", "s.qty > 0 AS much"])
def test_class_weights_reach_relations_that_are_copied(shop: Engine, output: str) -> None:
    """The parent of a LEFT JOIN is copied, and its rows are merged where no feature is a number."""
    text = f"SELECT s.y, {output} FROM sales s LEFT JOIN discounts d ON d.store = s.store"
    options = ProblemOptions("y", class_weight=(1.0, 3.0), scale="none")
    rows = truth(shop, text, Wish(class_weights=(1, 3)))
    beta = np.array([0.25, 0.5])
    with open_problem(shop, text, options) as problem:
        assert problem.plan.weighted(0)
        assert problem.moments.n == len(rows.y)
        assert JoinOracle(problem).pass_(beta, None).value_low == pytest.approx(svm.hinge(rows, beta).value)


# -- what has no place in a model ----------------------------------------------------------------------------------

NULL_HINT = "say what that means: nulls='mean' (the mean of the others) or nulls='drop' (leave the row out)"


@pytest.mark.parametrize("odd", ["NaN", "-Infinity"])
def test_numbers_that_are_none_are_refused(shop: Engine, odd: str) -> None:
    value = f"CASE WHEN s.qty > 0 THEN CAST('{odd}' AS DOUBLE PRECISION) ELSE s.qty END AS odd"
    with pytest.raises(DataError) as refused, workspace(shop) as work:
        opened(work, f"SELECT s.y, {value} {FROM}", Wish())
    assert refused.value.message == "feature odd is NaN or infinite in some rows of the join"
    assert refused.value.hint == only_finite("odd")
    remedy = only_finite("odd").partition(": ")[2]
    with workspace(shop) as work:
        opened(work, f"SELECT y, {remedy} FROM (SELECT s.y, {value} {FROM}) AS r", Wish())


@pytest.mark.parametrize("method", ["exact", "grid"])
def test_rows_that_are_not_in_the_join_may_hold_anything(shop: Engine, method: Method) -> None:
    """No shop sells item 9."""
    value = "CASE WHEN o.item = 9 THEN CAST('NaN' AS DOUBLE PRECISION) ELSE o.item END AS odd"
    with workspace(shop) as work:
        found = opened(work, f"SELECT s.y, {value}, s.qty {FROM}", Wish(method=method))
        beta = found.dyadic(np.random.default_rng(4))  # scores are multiples of 1/8
        assert found.cut(beta, 8).error == 0
        assert found.cut(beta, 8).value_low == pytest.approx(found.hinge(beta).value, rel=1e-12)


def test_null_is_refused_with_the_number_of_join_rows(shop: Engine) -> None:
    with workspace(shop) as work:
        rows = opened(work, f"SELECT s.y, st.size {FROM}", Wish()).problem.moments
    with pytest.raises(DataError) as refused, workspace(shop) as work:
        opened(work, f"SELECT s.y, st.size {FROM}", Wish(nulls="error"))
    assert 0 < rows.total[2] < rows.n
    assert refused.value.message == f"feature size is NULL in {rows.total[2]:.0f} rows of the join"
    assert refused.value.hint == NULL_HINT


def test_null_of_a_missing_match_counts_as_well(shop: Engine) -> None:
    with pytest.raises(DataError, match="feature rate is NULL in"), workspace(shop) as work:
        opened(work, f"SELECT s.y, d.rate {FROM}", Wish(nulls="error"))
