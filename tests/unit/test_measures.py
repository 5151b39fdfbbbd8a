"""The table of measures, against what scores of rows in memory say."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from sqlsvm.measures import (
    DECIDING,
    MEASURES,
    NUMBER,
    SEVERAL,
    TWO,
    USUAL,
    Label,
    Measure,
    deciding,
    of_scores,
    values_of,
)
from sqlsvm.model.evaluation import Bounded, Evaluation
from sqlsvm.model.scored import Scored, of_number, of_several_classes, of_two_classes, with_intervals
from sqlsvm.solve.loss import HINGE

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
N = 300
ONES = np.ones(N)


@pytest.mark.parametrize("values", [[1e17, 1e17 + 16, 1e17 + 32], [5.0] * 3, [-1e-300, 0.0, 1e-300], [-3.0, 0.5, 8.0]])
def test_a_histogram_has_no_more_bins_than_doubles_can_tell_apart(values: list[float]) -> None:
    z = np.array(values)
    found = of_number(Scored(-z, np.zeros(3), np.array([1.0, 2.0, 3.0])))
    assert sum(found.counts) == 6.0
    assert 1 <= len(found.counts) <= 100
    assert (np.diff(found.edges) > 0.0).all()
    assert found.edges[0] <= z.min() <= z.max() <= found.edges[-1]
    of_two = of_two_classes(Scored(z, np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 3.0])))
    assert sum(of_two.histogram.negative) + sum(of_two.histogram.positive) == 6.0


def test_of_two_classes() -> None:
    y, scores = RNG.choice([-1.0, 1.0], N), RNG.normal(size=N)
    found = of_two_classes(Scored(scores, y, ONES))
    said = np.where(scores > 0.0, 1.0, -1.0)
    of_labels = {
        "accuracy": metrics.accuracy_score,
        "precision": metrics.precision_score,
        "recall": metrics.recall_score,
        "f1": metrics.f1_score,
        "balanced_accuracy": metrics.balanced_accuracy_score,
    }
    expected = {name: of(y, said) for name, of in of_labels.items()} | {"auc": metrics.roc_auc_score(y, scores)}
    assert {name: MEASURES[name].value(found) for name in of_scores(TWO)} == pytest.approx(expected)
    assert values_of(found).keys() == {*deciding(TWO)} - {"loss"}


def test_of_several_classes() -> None:
    codes, scores = RNG.integers(1, 4, N).astype(float), RNG.normal(size=(3, N))
    found, said = of_several_classes(Scored(scores, codes, ONES), ("a", "b", "c")), scores.argmax(axis=0) + 1
    assert values_of(found) == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(codes, said),
            "f1": metrics.f1_score(codes, said, average="macro"),
            "balanced_accuracy": metrics.balanced_accuracy_score(codes, said),
        }
    )


def test_of_a_number() -> None:
    y, scores = RNG.normal(size=(2, N))
    found = of_number(Scored(scores, y, ONES))
    assert {name: MEASURES[name].value(found) for name in of_scores(NUMBER)} == pytest.approx(
        {
            "mae": metrics.mean_absolute_error(y, scores),
            "rmse": metrics.root_mean_squared_error(y, scores),
            "r2": metrics.r2_score(y, scores),
            "pinball": metrics.mean_pinball_loss(y, scores),
            "coverage": (y <= scores).mean(),
        }
    )


@pytest.mark.parametrize("label", [TWO, SEVERAL, NUMBER])
def test_what_decides(label: Label) -> None:
    assert USUAL[label] in deciding(label)
    assert set(deciding(label)) <= set(DECIDING)


def test_a_score_without_a_cluster_counts_as_many_clusters_of_one_row() -> None:
    y, scores, times = RNG.choice([-1.0, 1.0], N), RNG.integers(-5, 6, N) / 4.0, RNG.integers(1, 4, N)
    each = np.repeat(np.arange(N), times)
    both = (
        Scored(scores, y, times.astype(float)),
        Scored(scores[each], y[each], np.ones(len(each)), np.arange(len(each))),
    )
    found, apart = (with_intervals(of_two_classes(scored), scored, HINGE) for scored in both)
    assert values_of(found) == pytest.approx(values_of(apart))
    assert found.intervals.keys() == apart.intervals.keys() == {"accuracy", "auc", "loss"}
    for name, interval in found.intervals.items():
        assert vars(interval) == pytest.approx(vars(apart.intervals[name]))


@pytest.mark.parametrize(("template", "label"), [("_measures", TWO), ("_residuals", NUMBER)])
def test_the_functions_in_psql_have_each(template: str, label: Label) -> None:
    text = (ROOT / "sql_templates" / "internal" / f"{template}.sql").read_text(encoding="utf-8")
    assert set(of_scores(label)) - set(re.findall(r"'(\w+)'", text)) == set()


def test_a_measure_is_a_line_and_a_property(monkeypatch: pytest.MonkeyPatch) -> None:
    """What docs/internals.md says of adding one."""
    more = {**MEASURES, "specificity": Measure("specificity", (TWO,), decides=True)}
    monkeypatch.setattr("sqlsvm.measures.MEASURES", more)
    share = property(lambda found: Bounded(*[found.true_negative.value / found.negatives] * 3))
    monkeypatch.setattr(Evaluation, "specificity", share, raising=False)
    y, scores = RNG.choice([-1.0, 1.0], N), RNG.normal(size=N)
    found = of_two_classes(Scored(scores, y, ONES))
    expected = metrics.recall_score(y, np.where(scores > 0.0, 1.0, -1.0), pos_label=-1.0)
    assert values_of(found)["specificity"] == found.as_json()["specificity"] == pytest.approx(expected)
