"""--holdout auto: the bound, the independent rows that it counts next to those of the join, and what it keeps out."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, log

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.model.model import Model
from sqlsvm.run.holdout_size import DELTA, C, error_within, needed_rows
from sqlsvm.run.train import train
from tests.evaluating import evaluate_parts
from tests.ground.joins import cyclic
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import asked, meant

TABLES = """CREATE TABLE f (id INT, k INT, y INT, x FLOAT8, times FLOAT8);
CREATE TABLE g (k INT, z FLOAT8)"""
QUERIES: Mapping[str, tuple[str, str | None]] = {
    "one bag": ("SELECT f.y, f.x FROM f", None),
    "two bags": ("SELECT f.y, f.x, g.z FROM f JOIN g ON g.k = f.k", None),
    "weights": ("SELECT f.y, f.x, g.z, f.times FROM f JOIN g ON g.k = f.k", "times"),
}
ROWS = 4000


def made(engine: Engine, classes: int = 2, rows: int = ROWS) -> None:
    rng = np.random.default_rng(5)
    build(engine, TABLES)
    x = rng.normal(size=rows)
    y = np.digitize(x + rng.normal(size=rows), np.linspace(-0.5, 0.5, classes - 1) if classes > 2 else [0.0])
    f = {"id": np.arange(rows), "k": rng.integers(0, 20, rows), "times": rng.exponential(size=rows)}
    engine.copy_in(meant(engine, "f"), f | {"y": y, "x": x})
    engine.copy_in(meant(engine, "g"), {"k": np.minimum(rng.zipf(2.0, 60), 20) - 1, "z": rng.normal(size=60)})


def effective(engine: Engine, text: str, weight: str | None) -> float:
    """From the rows of the join."""
    query = parse_one(text.replace("SELECT", "SELECT f.id,", 1), read=engine.dialect)
    assert isinstance(query, exp.Query)
    rows = asked(engine, query)
    sums = np.bincount(rows["id"].astype(int), rows[weight].astype(float) if weight else None)
    return float(sums.sum() ** 2 / (sums.astype(float) ** 2).sum())


def share_of(model: Model) -> float:
    return float(model.options["holdout"])


@pytest.mark.thin(5)
@pytest.mark.parametrize("case", QUERIES)
def test_the_share_follows_from_the_rows_of_the_join(engine: Engine, case: str) -> None:
    """With a weight for each number and for the intercept. What is stored is the share: `evaluate` finds the rows."""
    made(engine)
    text, weight = QUERIES[case]
    options = training(lam=0.1, sample=200, weight=weight, holdout="auto:0.25", class_weight="balanced")
    model = train(engine, "m", text, options)
    wanted = (len(model.weights) + 1 + log(1 / DELTA)) / 0.25**2 * C / effective(engine, text, weight)
    assert share_of(model) == ceil(1000 * wanted) / 1000
    again = train(engine, "m", text, replace(options, holdout=share_of(model)))
    assert (again.label_rows, again.trained_on.held_out) == (model.label_rows, model.trained_on.held_out)
    found = evaluate_parts(engine, model)["holdout"]
    assert found.negatives + found.positives == pytest.approx(sum(model.trained_on.held_out.values()))


def test_many_classes_have_many_weights(duckdb: Engine) -> None:
    made(duckdb, classes=3)
    text, _ = QUERIES["one bag"]
    model = train(duckdb, "m", text, training(lam=0.1, sample=200, holdout="auto:0.25"))
    assert share_of(model) == ceil(1000 * needed_rows(3 * 2, 0.25) / ROWS) / 1000


def test_offloaded_and_by_the_estimator_it_is_the_same(postgres: Engine) -> None:
    made(postgres)
    text, _ = QUERIES["two bags"]
    models = [
        RelationalSVC(lam=0.1, sample=200, holdout="auto:0.25", offload=offload).fit(postgres, text, "y").model_
        for offload in (False, True)
    ]
    assert share_of(models[0]) == share_of(models[1])
    assert models[0].trained_on.held_out == models[1].trained_on.held_out


def test_too_few_data(engine: Engine) -> None:
    """The error that the hint names is the least that is content, and nothing is left behind."""
    made(engine, rows=400)
    text, _ = QUERIES["one bag"]
    before = engine.table_names()
    with pytest.raises(DataError) as refused:
        train(engine, "m", text, training(holdout="auto"))
    assert str(refused.value) == (
        "--holdout auto: there are too few data to know the accuracy of 2 weights within 0.1\n"
        "DETAIL: that takes 500 independent rows, and at most half of the rows can be held out; "
        "in the join, the 400 rows of the label's table are worth 400\n"
        "HINT: --holdout auto:0.159 is content with less; "
        "--holdout 0.2 holds out a fifth in any case, and --folds 5 measures on all rows"
    )
    assert engine.table_names() == before
    content = train(engine, "m", text, training(lam=0.1, sample=200, holdout="auto:0.159"))
    assert 0.49 < share_of(content) <= 0.5
    with pytest.raises(DataError, match="too few data"):
        train(engine, "m", text, training(holdout="auto:0.158"))


def test_not_in_a_cycle(duckdb: Engine) -> None:
    join = cyclic(np.random.default_rng(1))
    join.create(duckdb)
    with pytest.raises(DataError, match="is in a cycle of joins"):
        train(duckdb, "m", join.query, training(holdout="auto"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "kernel"}, "not for kernel machines"),
        ({"loss": "huber"}, "not for the loss huber"),
        ({"holdout": "auto:0.0"}, "holdout must be a number between 0 and 1, auto, or auto:ERROR with an error"),
        ({"holdout": "auto:1.5"}, "not 'auto:1.5'"),
        ({"holdout": "automatic"}, "not 'automatic'"),
    ],
)
def test_refused(options: Mapping[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        training(**{"holdout": "auto", **options})


def test_a_stored_model_has_a_number(duckdb: Engine) -> None:
    made(duckdb)
    model = train(duckdb, "m", QUERIES["one bag"][0], training(lam=0.1, sample=200))
    edited = model.as_json()
    edited["options"]["holdout"] = "auto"
    with pytest.raises(OptionError, match=r'options\.holdout: expected a number, found "auto"'):
        Model.from_json(edited)


# -- the bound ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 10, 30])
def test_labels_at_random_do_not_fool_it(d: int) -> None:
    """No weights tell the labels, but some do on the rows drawn. The best that a search finds are within the error."""
    rng, error = np.random.default_rng(d), 0.1
    assert error_within(d, needed_rows(d, error)) == error
    rows = ceil(needed_rows(d, error))
    for _ in range(10):
        x, y = rng.normal(size=(rows, d)), rng.choice([-1.0, 1.0], rows)
        assert 0.0 < _best_accuracy(x, y) - 0.5 < error


def _best_accuracy(x: np.ndarray, y: np.ndarray) -> float:
    """From least squares uphill, along a share of right rows that is smoothed less and less."""
    w = np.linalg.lstsq(x, y)[0]
    best = 0.0
    for smooth in (1.0, 0.5, 0.2):
        for _ in range(20):
            w /= np.linalg.norm(w)
            best = max(best, float((np.sign(x @ w) == y).mean()))
            slope = x.T @ (y * np.exp(-0.5 * (x @ w / smooth) ** 2))
            w = w + 0.15 * smooth * slope / np.linalg.norm(slope)
    return best
