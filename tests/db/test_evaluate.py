"""Evaluation over the virtual join, against scikit-learn's metrics on the rows of the naive join."""

import numpy as np
import pytest
from sklearn import metrics

from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.evaluate import measure as every_measure
from sqlsvm.ask.rows import on_all
from sqlsvm.engine.base import Engine, Values
from sqlsvm.errors import OptionError
from sqlsvm.measures import TWO, of_scores
from sqlsvm.model.evaluation import Bounded, Evaluation
from sqlsvm.model.model import Model
from sqlsvm.run.train import train
from sqlsvm.run.workspace import workspace
from tests.evaluating import evaluate_beta
from tests.ground import svm
from tests.ground.modelled import category, modelled, number
from tests.ground.opened import Wish, build, opened, opened_world
from tests.ground.trained import sensible
from tests.sized import sized
from tests.typed import meant

pytestmark = pytest.mark.slow


def truths(truth: svm.Design, beta: Values) -> dict[str, float]:
    """What scikit-learn says of the rows; AUC only where both classes have some."""
    scores, y = truth.x @ beta, truth.y > 0
    called = scores > 0
    (tn, fp), (fn, tp) = metrics.confusion_matrix(y, called, labels=[False, True])
    found = {"true_negative": tn, "false_positive": fp, "false_negative": fn, "true_positive": tp}
    found["accuracy"] = metrics.accuracy_score(y, called)
    found["precision"] = metrics.precision_score(y, called, zero_division=0)
    found["recall"] = metrics.recall_score(y, called, zero_division=0)
    found["f1"] = metrics.f1_score(y, called, zero_division=0)
    if y.any() and not y.all():
        found["balanced_accuracy"] = metrics.balanced_accuracy_score(y, called)
        found["auc"] = metrics.roc_auc_score(y, scores)
    return found


def measure(found: Evaluation, name: str) -> Bounded:
    bounded = getattr(found, name)
    assert isinstance(bounded, Bounded)
    return bounded


def assert_exact(found: Evaluation, truth: svm.Design, beta: Values) -> None:
    assert found.exact
    assert found.as_json()["bounds"] == {}
    wanted = truths(truth, beta)
    assert (found.auc is None) == ("auc" not in wanted)
    assert {n: measure(found, n).value for n in wanted} == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def assert_bounds(found: Evaluation, truth: svm.Design, beta: Values) -> None:
    for name, value in truths(truth, beta).items():
        bounded = measure(found, name)
        assert bounded.lower <= bounded.value <= bounded.upper
        assert bounded.lower - 1e-12 <= value <= bounded.upper + 1e-12, name


def assert_histogram(found: Evaluation, truth: svm.Design, beta: Values) -> None:
    """Up to each edge as many rows as have such scores; those within the blur of an edge may be on either side."""
    edges, off = np.array(found.histogram.edges), found.blur + 1e-9
    for label, counts in ((-1, found.histogram.negative), (1, found.histogram.positive)):
        scores = (truth.x @ beta)[truth.y == label]
        assert sum(counts) == len(scores)
        for edge, below in zip(edges[1:-1], np.cumsum(counts), strict=False):
            assert np.sum(scores < edge - off) <= below <= np.sum(scores < edge + off)
        assert not len(scores) or edges[0] - off <= scores.min() <= scores.max() <= edges[-1] + off


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 6])
def test_exact(shared_engine: Engine, seed: int) -> None:
    """On dyadic features and weights even rows with a score of 0, and equal scores, are what they are."""
    with opened_world(shared_engine, seed, Wish(copied=seed % 2 == 0), nulls=False, left_joins=False) as found:
        if found is None:
            return  # an empty join is refused before anybody evaluates
        beta = found.dyadic(np.random.default_rng(seed))
        answer = evaluate_beta(found.problem, found.on_oracle(beta))
        assert_exact(answer, found.truth, beta)
        assert_histogram(answer, found.truth, beta)


@pytest.mark.parametrize("most", [1 << 16, 200])
@pytest.mark.parametrize("label", ["late", "minutes"])
def test_the_list_is_the_same_here_and_in_the_database(
    engine: Engine, label: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where scores are too many for a bin each, and with equal ones."""
    build(engine, "CREATE TABLE days (day INT, rain FLOAT8); CREATE TABLE trips (day INT, km FLOAT8, minutes FLOAT8)")
    rng = np.random.default_rng(5)
    km, day = np.append(rng.gamma(2.0, 3.0, 900), np.full(100, 4.0)), rng.integers(0, 30, 1000)
    engine.copy_in(meant(engine, "days"), {"day": np.arange(30), "rain": rng.random(30)})
    engine.copy_in(meant(engine, "trips"), {"day": day, "km": km, "minutes": 2.0 * km + rng.normal(size=1000)})
    value = "minutes > 12" if label == "late" else "minutes"
    query = f"SELECT {value} AS y, km, rain FROM trips JOIN days ON trips.day = days.day"
    model = train(engine, "m", query, sensible(label="y", lam=1e-3, loss="hinge" if label == "late" else "absolute"))
    sized(monkeypatch, bins=most)
    found = []
    for held in 1e7, 0.0:
        sized(monkeypatch, held=held)
        found.append(on_all(engine, model, lambda problem: every_measure(problem, model)).as_json())
    here, there = found
    assert here.pop("histogram", None) == there.pop("histogram", None)
    numbers = [{name: value for name, value in each.items() if isinstance(value, float)} for each in found]
    assert len(numbers[0]) >= 5
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-12)
    assert here.keys() == there.keys()


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_scores_of_zero_without_a_list(shared_engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sort at the centre puts a row with a score of 0 where the list does: on the negative side."""
    sized(monkeypatch, listed=0)
    with opened_world(shared_engine, seed, Wish(), nulls=False, left_joins=False) as found:
        assert found is not None
        assert found.plan.centre is not None
        beta = found.dyadic(np.random.default_rng(seed + 1))
        assert np.any(found.truth.x @ beta == 0)
        assert_exact(evaluate_beta(found.problem, found.on_oracle(beta)), found.truth, beta)


@pytest.mark.parametrize("seed", [30, 32, 33, 35])
def test_long_lists(shared_engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many pairs for a list: the confusion matrix stays exact, and the rest gets bounds that hold."""
    sized(monkeypatch, listed=0)
    with opened_world(shared_engine, seed, Wish(), continuous=True, many_to_many=True, acyclic=True) as found:
        if found is None or found.plan.centre is None:
            return  # one bag needs no list of pairs
        beta = found.normal(np.random.default_rng(seed))
        answer = evaluate_beta(found.problem, found.on_oracle(beta))
        assert answer.true_positive.exact
        assert answer.accuracy.exact
        assert_bounds(answer, found.truth, beta)
        assert_histogram(answer, found.truth, beta)


def slack(found: Evaluation) -> float:
    """How far the bounds of the rates are apart, all together."""
    bounds = [getattr(found, name) for name in of_scores(TWO)]
    return float(sum(b.upper - b.lower for b in bounds if b))


@pytest.mark.parametrize("seed", [50, 51, 52, 54])
def test_bounds_on_the_grid(shared_engine: Engine, seed: int) -> None:
    """They hold on both sides, however coarse the grid is, and close as it gets finer."""
    wish = Wish(method="grid")
    with opened_world(shared_engine, seed, wish, continuous=True, many_to_many=True, acyclic=True) as found:
        if found is None or found.plan.centre is None:
            return  # one bag is always exact
        beta = found.normal(np.random.default_rng(seed))
        coarse, fine = (evaluate_beta(found.problem, found.on_oracle(beta), buckets=b) for b in (4, 4096))
        for answer in (coarse, fine):
            assert_bounds(answer, found.truth, beta)
            assert_histogram(answer, found.truth, beta)
        assert fine.blur <= coarse.blur / 256
        assert slack(fine) < slack(coarse) or slack(coarse) == 0


def test_a_grid_without_rounding_is_exact(shared_engine: Engine) -> None:
    """Scores in halves lie on the grid: no bound is wider than its value."""
    exact = 0
    for seed in (62, 63, 64):
        with opened_world(shared_engine, seed, Wish(method="grid"), nulls=False, left_joins=False) as found:
            if found is not None:
                beta = found.dyadic(np.random.default_rng(seed))
                assert_exact(evaluate_beta(found.problem, found.on_oracle(beta)), found.truth, beta)
                exact += found.plan.centre is not None
    assert exact > 1


SHOP = """
CREATE TABLE visit (k INT, bought BOOLEAN, w INT, price DOUBLE PRECISION, colour TEXT, fresh BOOLEAN);
CREATE TABLE item (k INT, size DOUBLE PRECISION);
INSERT INTO visit VALUES (1, TRUE, 2, 1.0, 'red', TRUE), (1, FALSE, 1, 2.0, 'blue', FALSE),
  (2, TRUE, 3, NULL, NULL, NULL), (2, FALSE, 1, 0.5, 'red', TRUE),
  (2, TRUE, 1, 4.0, 'blue', TRUE), (3, FALSE, 5, 0.0, 'red', FALSE);
INSERT INTO item VALUES (1, 0.5), (1, -1.0), (2, 2.0), (2, -2.0), (2, -2.0), (3, 1.5)
"""
QUERY = "SELECT v.bought, v.w, v.price, v.colour, v.fresh, i.size FROM visit v JOIN item i ON i.k = v.k"


@pytest.mark.parametrize("query", [QUERY, QUERY.replace(" JOIN item i ON i.k = v.k", "").replace(", i.size", "")])
@pytest.mark.parametrize("copied", [True, False])
def test_weights_count_and_class_weights_do_not(engine: Engine, query: str, copied: bool) -> None:
    build(engine, SHOP)
    wish = Wish(label="bought", weight="w", copied=copied)
    with workspace(engine) as work:
        truth = opened(work, query, wish).truth
    with workspace(engine) as work:
        found = opened(work, query, Wish(label="bought", weight="w", copied=copied, class_weights=(3, 2)))
        assert found.truth.columns == truth.columns
        beta = np.array([0.25 * n for n in range(-2, len(truth.columns) - 2)])
        answer = evaluate_beta(found.problem, found.on_oracle(beta))
        assert answer.negatives + answer.positives == pytest.approx(len(truth.y), rel=1e-12)
        for name, value in truths(truth, beta).items():
            assert measure(answer, name).value == pytest.approx(value, rel=1e-9)


def model() -> Model:
    missing = 1.5
    weights = [number("price", -0.5, missing), number("fresh", 1.0, 0.5), number("size", 0.75, 0.0)]
    return modelled([*weights, category("colour", "red", 0.5), category("colour", "green", 9.0)], 0.25, nulls="mean")


@pytest.mark.parametrize("scale", ["standard", "none"])
def test_a_model_on_rows(engine: Engine, scale: svm.Scale) -> None:
    """Its weights are for the original columns and its means are those of its training, for any rows."""
    build(engine, SHOP)
    query = QUERY.replace(" v.w,", "")
    with workspace(engine) as work:
        found = opened(work, query, Wish(label="bought", scale=scale))
        answer = evaluate(found.problem, model())
    price = [1.0, 1.0, 2.0, 2.0, 1.5, 1.5, 1.5, 0.5, 0.5, 0.5, 4.0, 4.0, 4.0, 0.0]
    red = [1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1]
    fresh = [1, 1, 0, 0, 0.5, 0.5, 0.5, 1, 1, 1, 1, 1, 1, 0]
    size = [0.5, -1, 0.5, -1, 2, -2, -2, 2, -2, -2, 2, -2, -2, 1.5]
    y = np.array([1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0]) > 0
    scores = 0.25 - 0.5 * np.array(price) + 0.5 * np.array(red) + np.array(fresh) + 0.75 * np.array(size)
    assert answer.exact
    assert answer.accuracy.value == pytest.approx(metrics.accuracy_score(y, scores > 0))
    assert answer.auc is not None
    assert answer.auc.value == pytest.approx(metrics.roc_auc_score(y, scores))


def test_a_model_that_does_not_fit(engine: Engine) -> None:
    build(engine, SHOP)
    with workspace(engine) as work:
        found = opened(work, QUERY.replace("v.price", "v.price AS prise"), Wish(label="bought", weight="w"))
        with pytest.raises(OptionError, match="no weight for the number prise\nHINT: did you mean price"):
            evaluate(found.problem, model())
    with workspace(engine) as work:
        found = opened(work, QUERY, Wish(label="bought", weight="w", intercept=False))
        with pytest.raises(OptionError, match="has an intercept"):
            evaluate(found.problem, model())


def test_one_class(engine: Engine) -> None:
    """Rows held out may be of one class: there is no AUC, and the rates are those of scikit-learn."""
    build(engine, SHOP)
    with workspace(engine) as work:
        found = opened(work, f"{QUERY} WHERE v.bought", Wish(label="bought", weight="w"))
        beta = np.array([-0.1, *np.zeros(len(found.truth.columns) - 1)])
        answer = evaluate_beta(found.problem, found.on_oracle(beta))
        assert answer.auc is None
        assert answer.as_json()["auc"] is None
        assert (answer.recall.value, answer.precision.value, answer.f1.value) == (0.0, 0.0, 0.0)
        assert answer.balanced_accuracy.value == 0.0
        assert sum(answer.histogram.negative) == 0


def test_only_the_histogram_leaves_the_database(engine: Engine, statements: list[str]) -> None:
    """However many rows the join has, what is fetched is a few lines and the bins; nothing is left behind."""
    build(engine, SHOP)
    with workspace(engine) as work:
        found = opened(work, QUERY, Wish(label="bought", weight="w"))
        before = set(engine.table_names())
        beta = found.normal(np.random.default_rng(0))
        del statements[:]
        answer = evaluate_beta(found.problem, found.on_oracle(beta), bins=3)
        fetched = [s for s in statements if s.startswith("SELECT")]
        assert len(fetched) == 3  # pairs, size, bins
        assert len(answer.histogram.edges) == 4
        assert set(engine.table_names()) == before
