"""What a report gathers from a database, compared with the materialised join, and what it does without a part."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime

import pytest
from sqlglot import parse

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.model.evaluation import Bounded, Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.report import Report, gather, gather_from, html
from sqlsvm.report.chart import Area
from sqlsvm.report.plots import charts
from sqlsvm.run.train import train
from tests.evaluating import evaluate_model
from tests.ground.models import model as by_hand
from tests.ground.trained import training
from tests.typed import typed

TABLES = """
CREATE TABLE a AS SELECT i % 7 AS k, (i * 7) % 11 + i % 5 > 7 AS y, i % 5 - 2 AS x FROM GENERATE_SERIES(0, 59) AS r(i);
CREATE TABLE b AS SELECT i % 7 AS k, '<b>' || (i % 3) AS tone, i / 8.0 AS z FROM GENERATE_SERIES(0, 39) AS r(i)
"""
QUERY = "SELECT a.y, a.x, b.tone, b.z FROM a JOIN b ON a.k = b.k"


def run(engine: Engine, text: str) -> None:
    for statement in parse(text, read="postgres"):
        assert statement
        typed(engine, statement)


def shop(engine: Engine) -> Model:
    run(engine, TABLES)
    return train(engine, "model", QUERY, training(lam=0.01))


def written(report: Report) -> str:
    return html(report, datetime(2026, 1, 2))


def test_everything_is_on_the_page(engine: Engine) -> None:
    found = gather_from(engine, shop(engine))
    assert found.missing == ()
    page = written(found)
    for part in ("60 rows", "on one key at most 9 a \u00d7 6 b", "many-to-many", "&lt;b&gt;0", "ROC curve", "344 rows"):
        assert part in page, part
    for known in (found, Report(found.model)):  # by the database, or by the model
        assert [known.relation_of(w) for w in ("x", "tone", "z", "y")] == ["a", "b", "b", ""]


def test_rows_held_out(engine: Engine) -> None:
    """The charts are of rows that the training has not seen; the others are there too."""
    run(engine, TABLES)
    model = train(engine, "model", QUERY, replace(training(lam=0.01), holdout=0.3))
    found = gather_from(engine, model)
    assert found.missing == ()
    assert isinstance(found.evaluation, Evaluation)
    assert isinstance(found.seen, Evaluation)
    of_accuracy = found.evaluation.intervals["accuracy"]
    unseen, seen = (e.negatives + e.positives for e in (found.evaluation, found.seen))
    assert (seen, seen + unseen) == (model.join_rows, 344)
    page = written(found)
    for part in (
        *(f"Held out were {unseen:.0f} rows", "Rates on both parts", f"all {unseen:.0f} rows held out of the"),
        *(f"{of_accuracy.lower:.4f} to {of_accuracy.upper:.4f}", "The intervals are of 95 %."),
    ):
        assert part in page, part
    assert "have changed since" not in page


def test_a_label_that_is_a_number(engine: Engine) -> None:
    """With its residuals, counted row by row, on both parts."""
    run(engine, TABLES)
    query = "SELECT b.z AS y, a.x, b.tone FROM a JOIN b ON a.k = b.k"
    asked = training(loss="quantile", quantile=0.9, lam=0.01, l1=0.02, constrain=("nonnegative",), holdout=0.3)
    model = train(engine, "model", query, asked)
    found = gather_from(engine, model)
    assert found.missing == ()
    assert isinstance(found.evaluation, Residuals)
    assert isinstance(found.seen, Residuals)
    assert found.evaluation.rows + found.seen.rows == 344
    page = written(found)
    for part in (
        "Linear model of a number",
        "mean quantile (quantile 0.9) loss",
        "l1 times the sum of their sizes (l1 = 0.02)",
        "What the weights satisfy",
        f"trained on {found.seen.rows:.0f} rows",
        f"Held out were {found.evaluation.rows:.0f} rows",
        "mean absolute error",
        "How far it is off",
        f"{found.evaluation.intervals['mae'].lower:.6g} to {found.evaluation.intervals['mae'].upper:.6g}",
        "independent rows.",
        "Right of 0 the label is above the score",
        "it is the prediction of y",
    ):
        assert part in page, part
    for wrong in ("support vector", "ROC", "have changed since", "y = "):
        assert wrong not in page, wrong
    assert gather(model, None).missing[0].part == "join tree, residuals"
    rows = engine.fetch(predict(engine, model))
    drawn = charts(gather_from(engine, replace(model, options=dict(model.options) | {"holdout": None})))
    (bars,) = (mark for mark in drawn["residuals"].marks if isinstance(mark, Area))
    off, below = rows["y"] - rows["score"], 0.0
    for (_, height), (edge, _) in zip(bars.upper[::2], bars.upper[1::2], strict=True):
        below += height
        assert (off < edge - 1e-9).mean() - 1e-9 <= below <= (off < edge + 1e-9).mean() + 1e-9
    assert below == pytest.approx(1.0)


def test_rows_held_out_that_have_weights(engine: Engine) -> None:
    run(engine, TABLES)
    query = "SELECT a.y, a.x, b.tone, b.z, (a.x * a.x + 1) / 8.0 AS w FROM a JOIN b ON a.k = b.k"
    model = train(engine, "model", query, replace(training(lam=0.01, weight="w"), holdout=0.3))
    unseen = sum(model.trained_on.held_out.values())
    page = written(gather_from(engine, model))
    assert f"Held out were rows of total weight {unseen:.4g}. The join has 344 rows now." in page
    assert f"Counted over all rows of total weight {unseen:.4g} held out of the training" in page


def test_the_roc_curve_beside_the_rows(engine: Engine) -> None:
    model = shop(engine)
    rows = engine.fetch(predict(engine, model))
    positive = rows["y"].astype(bool)
    report = gather_from(engine, model)
    assert isinstance(report.evaluation, Evaluation)
    assert len(report.evaluation.roc) > 20
    for point in report.evaluation.roc:
        for rate, scores in (
            (point.true_positive_rate, rows["score"][positive]),
            (point.false_positive_rate, rows["score"][~positive]),
        ):
            # A score that is the threshold itself may be rounded to either side of it.
            least, most = (float((scores >= point.threshold + e).mean()) for e in (1e-9, -1e-9))
            assert rate.lower <= most + 1e-12
            assert rate.upper >= least - 1e-12
            assert not rate.exact or least - 1e-12 <= rate.value <= most + 1e-12


def test_bounds_of_the_roc_curve_hold_on_a_grid(engine: Engine) -> None:
    run(engine, TABLES)
    run(engine, "CREATE TABLE c AS SELECT i % 6 AS k, SQRT(i) AS v FROM GENERATE_SERIES(0, 17) AS r(i)")
    three = "SELECT a.y, a.x, b.z, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.k = b.k"
    model = train(engine, "three", three, training(lam=0.01, counting="grid"))
    rows = engine.fetch(predict(engine, model))
    found = evaluate_model(engine, model, buckets=16, bins=50)
    assert found.blur > 0
    positive = rows["y"].astype(bool)
    for point in found.roc:
        holds(point.true_positive_rate, float((rows["score"][positive] >= point.threshold).mean()))
        holds(point.false_positive_rate, float((rows["score"][~positive] >= point.threshold).mean()))


def holds(rate: Bounded, truth: float) -> None:
    assert rate.lower - 1e-12 <= truth <= rate.upper + 1e-12


# -- what cannot be had ------------------------------------------------------------------------------------------------


def test_tables_that_have_changed_since(engine: Engine) -> None:
    model = shop(engine)
    run(engine, "INSERT INTO b VALUES (0, 'new', 1.5)")
    assert "rows now: the tables have changed since" in written(gather_from(engine, model))
    run(engine, "DROP TABLE b")
    found = gather_from(engine, model)
    assert (found.inspection, found.evaluation) == (None, None)
    assert [m.part for m in found.missing] == ["join tree", "scores, ROC curve and confusion matrix"]
    assert all(re.search(r"cannot read (public\.)?b\b", m.why) for m in found.missing)
    page = written(found)
    assert "What is missing" in page
    assert "No linear model can do better than" in page


Database = Callable[[], AbstractContextManager[Engine]]


@pytest.mark.parametrize(
    ("database", "why"),
    [(None, "no database was named"), (lambda: connect("postgresql://127.0.0.1:1/x"), "cannot connect to PostgreSQL")],
)
def test_no_database(database: Database | None, why: str) -> None:
    found = gather(by_hand(), database)
    (missing,) = found.missing
    assert why in missing.why
    assert "\n" not in missing.why
    assert "1,000" in written(found), "how many rows the relations had in the training"
