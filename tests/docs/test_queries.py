"""Each example of docs/queries.md takes the way that the page says, and has the rows that the database gives it."""

import re

import numpy as np
import pytest

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.model.predict import predict
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query.forms import RESULT
from sqlsvm.query.read_query import read_query
from sqlsvm.run.opening import open_problem
from tests.docs.markdown import ROOT, blocks, section
from tests.evaluating import evaluate_model
from tests.ground.trained import training
from tests.typed import asked, run

pytestmark = pytest.mark.each

PAGE = (ROOT / "docs" / "queries.md").read_text(encoding="utf-8")
WAYS = "Folded", "A part is made", "The whole is made"


@pytest.fixture
def shop(engine: Engine) -> Engine:
    run(engine, next(blocks(PAGE, "sql")).text)
    return engine


def examples(way: str, dialect: str) -> list[str]:
    found = [block for block in blocks(section(PAGE, way)) if block.language in ("sql", f"sql {dialect}")]
    return [block.text.strip() for block in found]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_rows(shop: Engine, way: str) -> None:
    """As many rows of each class, and the same sum of each number, as the database gives the text."""
    for text in examples(way, shop.dialect):
        try:
            assert _way(shop, text) == way
            _check(shop, text)
        except BaseException as error:
            error.add_note(text)
            raise


def _way(engine: Engine, text: str) -> str:
    made = [r.alias for r in read_query(engine, text, label=_label(text)).relations if r.once]
    return WAYS[0] if not made else WAYS[2] if RESULT in made else WAYS[1]


def _check(engine: Engine, text: str) -> None:
    label = _label(text)
    with open_problem(engine, text, ProblemOptions(label, nulls="mean", scale="none")) as problem:
        moments, coordinates = problem.moments, problem.plan.design.coordinates
    names = ", ".join(f'"{name}"' for name in dict.fromkeys(f.name for f in read_query(engine, text).features))
    found = asked(engine, f"SELECT * FROM ({text}) AS result({names})")
    truth = np.array([value is True or value == 1 for value in found[label].tolist()])
    assert moments.n == len(truth)
    if "LIMIT 40" in text:  # which rows these are is not known
        return
    assert moments.n_negative == (~truth).sum()
    for name in {c.feature for c in coordinates if c.role == "value" and c.feature}:
        total = sum(moments.total[c.index] for c in coordinates if c.feature == name and c.role == "value")
        assert total == pytest.approx(np.nansum(found[name].astype(float))), name


def _label(text: str) -> str:
    return str(re.findall(r"\b(late|churned)\b", text)[0])


@pytest.mark.parametrize(("way", "number"), [(1, 0), (1, 3), (1, 4), (1, 5), (2, 0), (2, 4), (2, 8), (2, 12)])
def test_training(shop: Engine, way: int, number: int) -> None:
    """The same optimum as over a table with the rows; a model is measured and predicts on the rows of its query."""
    text = examples(WAYS[way], shop.dialect)[number]
    label = _label(text)
    names = ", ".join(f.name for f in read_query(shop, text).features)
    run(shop, f"CREATE TABLE flat AS SELECT {names} FROM ({text}) AS r")
    model, flat = (
        trained(shop, each, {"m": training(label, nulls="mean")})[0] for each in (text, f"SELECT {names} FROM flat")
    )
    assert model.objective == pytest.approx(flat.objective, rel=1e-9)
    rows = shop.fetch(predict(shop, model))
    found = evaluate_model(shop, model)
    assert found.negatives + found.positives == len(rows["score"])
    right = (rows["prediction"] == rows[label]).sum()
    assert right == found.true_positive.value + found.negatives - found.false_positive.value
