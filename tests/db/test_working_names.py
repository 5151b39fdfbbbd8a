"""Tables of the user's that are called like our working tables: these get other names, and nothing is ever mixed up."""

import re
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest

from sqlsvm.ask.inspect import inspect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, write_csv
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from tests.evaluating import evaluate_parts
from tests.ground.joins import categories
from tests.ground.trained import training
from tests.typed import asked, typed

pytestmark = pytest.mark.each

JOIN = categories(np.random.default_rng(6))
ASKED = replace(training(lam=1e-2, sample=300, categorical=JOIN.categorical), holdout=0.3)
MADE = re.compile(r"CREATE TEMPORARY TABLE (\w+)")


@pytest.fixture
def made(engine: Engine) -> list[str]:
    """The working tables of a training and of an evaluation, in order."""
    JOIN.create(engine)
    if engine.dialect == "duckdb":  # so that sums come out alike to the last digit
        engine.execute(Text("SET threads = 1"))
    sent: list[str] = []
    engine.on_statement = sent.append
    evaluate_parts(engine, train(engine, "m", JOIN.query, ASKED))
    engine.on_statement = None
    return sorted({name for text in sent for name in MADE.findall(text)})


def facts(model: Model) -> tuple[object, ...]:
    return model.label_rows, model.weights, model.intercept, model.lower_bound


def trained(engine: Engine, query: str, asked: Training = ASKED) -> tuple[object, ...]:
    """What a training comes to, and an evaluation of it."""
    model = train(engine, "m", query, asked)
    parts = evaluate_parts(engine, model)
    return *facts(model), parts["train"].accuracy, parts["holdout"].accuracy


FORMS = {
    "table": "FROM {trips} t JOIN {offers} o",
    "sub-query": "FROM (SELECT * FROM {trips}) t JOIN (SELECT x.* FROM {offers} AS x) o",
    "CTE": "WITH sqlsvm_cte AS (SELECT * FROM {trips}) {select} FROM sqlsvm_cte t JOIN {offers} o",
    "no alias": "FROM {trips} JOIN {offers} AS o",
    "capitals": "FROM {TRIPS} t JOIN {OFFERS} o",
    "view": "FROM seen t JOIN {offers} o",
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_name_may_be_taken(engine: Engine, made: list[str], form: str) -> None:
    """All that we would use are there already, and two of them are what is trained on."""
    plain = trained(engine, JOIN.query)
    trips, offers = "sqlsvm_part", "sqlsvm_s0"  # one lasts as long as the training, one as long as a pass
    assert {trips, offers} <= set(made)
    others = [name for name in made if name not in (trips, offers)]
    typed(engine, f"ALTER TABLE trips RENAME TO {trips}")
    typed(engine, f"ALTER TABLE offers RENAME TO {offers}")
    typed(engine, f"CREATE VIEW seen AS SELECT * FROM {trips}")
    for name in others:
        typed(engine, f"CREATE TABLE {name} AS SELECT 42 AS precious")
    before = engine.table_names()
    select, _, rest = JOIN.query.partition(" FROM ")
    condition = rest.partition(" ON ")[2]
    names = {"trips": trips, "offers": offers, "TRIPS": trips.upper(), "OFFERS": offers.upper(), "select": select}
    source = FORMS[form].format(**names)
    query = f"{source} ON {condition}" if form == "CTE" else f"{select} {source} ON {condition}"
    if form == "no alias":
        query = re.sub(r"\bt\.", f"{trips}.", query)
    assert trained(engine, query) == plain
    assert engine.table_names() == before
    inspect(engine, query, label="y")
    for name in others:
        assert asked(engine, f"SELECT precious FROM {name}")["precious"].tolist() == [42]


def test_predictions_of_rows_in_such_a_table(engine: Engine) -> None:
    JOIN.create(engine)
    model = train(engine, "m", JOIN.query, ASKED)
    typed(engine, f"CREATE TABLE sqlsvm_predictions AS {JOIN.query}")
    for rows in ("sqlsvm_predictions", "SELECT * FROM SQLSVM_predictions AS sqlsvm_p WHERE sqlsvm_p.x > 0"):
        out = StringIO()
        found = predict(engine, model, rows)
        assert write_csv(engine, found, out) == len(engine.fetch(found)["score"]) > 0
