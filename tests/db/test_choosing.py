"""auto for lambda, l1 and the loss: what is chosen, on which rows, and what the model says of it."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from io import StringIO

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sqlglot import parse_one

from sqlsvm import RelationalSVC
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import OptionError
from sqlsvm.model import memory
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import UNNAMED
from sqlsvm.query.ir import ENTITY, ROW, TIME
from sqlsvm.query.rewrites import split
from sqlsvm.query.rewrites.split import Folds
from sqlsvm.report.gather import Report
from sqlsvm.report.page import html
from sqlsvm.rules import named
from sqlsvm.run import choosing
from sqlsvm.run.choosing import Settled, few, parts_of
from sqlsvm.run.opening import opened, query_of
from sqlsvm.run.problems import Problems
from sqlsvm.run.train import settled_on, train
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import workspace
from sqlsvm.show.training import draw_training
from sqlsvm.solve.choosing import STRENGTHS
from sqlsvm.terminal import NOTE
from tests.evaluating import evaluate_model
from tests.ground.joins import Join
from tests.ground.sql_program import compiled
from tests.ground.sql_program import trained as in_psql

NOISE = [f"n{k}" for k in range(8)]
QUERY = f"""
    SELECT o.late, o.amount, c.age, v.minutes, {", ".join(f"o.{name}" for name in NOISE)}
    FROM orders o JOIN customers c ON c.id = o.customer_id JOIN visits v ON v.customer_id = c.id"""
SCHEMA = f"""
    CREATE TABLE customers (id INT PRIMARY KEY, age FLOAT8);
    CREATE TABLE visits (customer_id INT, minutes FLOAT8);
    CREATE TABLE orders (id INT, customer_id INT, amount FLOAT8, late BOOL, {", ".join(f"{n} FLOAT8" for n in NOISE)})
    """


def shop(orders: int = 900) -> Join:
    """Orders and visits meet many to many. Whether an order is late depends on its amount and on its customer, of which
    the columns say little."""
    rng, m = np.random.default_rng(0), max(2, orders // 10)
    of, age, own, amount = rng.integers(0, m, orders), *rng.normal(size=(2, m)), rng.normal(size=orders)
    late = 0.8 * amount + 0.3 * age[of] + own[of] + rng.normal(size=orders) > 0.5
    noise = {name: rng.normal(size=orders) for name in NOISE}
    rows = {"id": np.arange(orders), "customer_id": of, "amount": amount, "late": late, **noise}
    visits = {"customer_id": np.arange(2 * m) % m, "minutes": rng.exponential(size=2 * m)}
    return Join(SCHEMA, {"customers": {"id": np.arange(m), "age": age}, "visits": visits, "orders": rows}, QUERY)


def trained(engine: Engine, **options: object) -> Model:
    return train(engine, "m", QUERY, Training.of(label="late", **options))


def test_it_is_the_training_with_what_was_chosen(engine: Engine) -> None:
    with shop().created(engine):
        found = trained(engine, lam="auto")
        given = trained(engine, lam=found.lam)
        fixed = trained(engine)
    assert found.chosen
    assert found.converged
    assert found.lam == found.chosen.strength == found.chosen.best.strength
    assert found.lower_bound <= given.objective_upper
    assert given.lower_bound <= found.objective_upper
    assert found.options["lam"] == found.lam
    strengths = [each.strength for each in found.chosen.tried]
    assert strengths == [strength for strength in STRENGTHS if strength in strengths]
    assert found.chosen.share == pytest.approx(0.8, abs=0.01)
    assert fixed.lam == 1e-4
    assert fixed.chosen is None
    assert "choosing" in found.phases


def test_a_sample_and_the_whole_join_choose_alike(engine: Engine) -> None:
    """Where passes are made the rows are a sample: the choices are within one standard error."""
    with shop().created(engine):
        whole = trained(engine, lam="auto", in_memory=10_000)
        drawn = trained(engine, lam="auto", sample=5000)
    assert whole.in_memory
    assert not drawn.in_memory
    assert whole.chosen
    assert drawn.chosen
    same = next(each for each in whole.chosen.tried if each.strength == drawn.lam)
    assert abs(same.mean - whole.chosen.best.mean) <= max(same.error, 0.01)
    assert drawn.chosen.rows == pytest.approx(whole.chosen.rows, rel=0.05)


@pytest.mark.parametrize("by", [None, "customer_id"])
@pytest.mark.parametrize("memory", [0, 10_000])
def test_no_row_of_the_label_is_on_both_sides(engine: Engine, by: str | None, memory: int) -> None:
    training = Training.of(label="late", lam="auto", split_by=by, in_memory=memory, sample=2000)
    with shop().created(engine):
        query = query_of(engine, QUERY, training)
        with workspace(engine, reads=query.tables) as work:
            problem, _ = opened(work, query, training)
            drawn = few(Problems(problem).drawn(training), 1500, 0)
    assert 1000 < len(drawn.codes) < 1900
    rows: dict[float, tuple[float, float]] = {}
    for row, code, amount in zip(drawn.marks[ROW], drawn.codes, drawn.rows.numbers[:, 1], strict=True):
        assert rows.setdefault(row, (code, amount)) == (code, amount)
    assert len(rows) > 100
    parts = parts_of(Folds(5, 0, by), drawn)
    assert len(parts) == 5
    for part in parts:
        for mark in [ROW, *([ENTITY] if by else [])]:
            assert not set(drawn.marks[mark][part.rest]) & set(drawn.marks[mark][part.measured])


def test_parts_can_be_of_entities(duckdb: Engine) -> None:
    """Rows of one customer on both sides make the model look better than it is."""
    with shop().created(duckdb):
        apart, mixed = (trained(duckdb, lam="auto", split_by=by).chosen for by in ("customer_id", None))
    assert apart
    assert mixed
    assert apart.split == "5 parts by customer_id"
    assert apart.best.mean < mixed.best.mean


def test_parts_can_go_forward_in_time(engine: Engine) -> None:
    offload = True if engine.dialect == "postgres" else None
    training = Training.of(label="late", lam="auto", time="id", gap=100.0, offload=offload, sample=5000)
    with shop().created(engine):
        found = train(engine, "m", QUERY, training)
        query = query_of(engine, QUERY, training)
        with workspace(engine, reads=query.tables) as work:
            drawn = Problems(opened(work, query, training)[0]).drawn(training)
    assert found.chosen
    assert found.chosen.split == "5 parts forward in time, by id"
    for part in parts_of(Folds(5), drawn, 100.0):
        assert drawn.marks[TIME][part.rest].max() + 100.0 < drawn.marks[TIME][part.measured].min()


def test_the_loss_is_chosen_too(duckdb: Engine) -> None:
    with shop().created(duckdb):
        found = trained(duckdb, lam="auto", loss="auto")
    assert found.chosen
    assert found.loss == found.chosen.loss
    assert {each.loss for each in found.chosen.tried} == {"hinge", "squared_hinge", "logistic"}
    assert found.options["problem"]["loss"] == found.loss


def test_l1_is_chosen(duckdb: Engine) -> None:
    with shop().created(duckdb):
        found = trained(duckdb, l1="auto", lam=1e-3)
    assert found.chosen
    assert (found.lam, found.options["l1"]) == (1e-3, found.chosen.strength)
    assert found.used < len(found.weights)


@pytest.mark.parametrize(("loss", "measure"), [("absolute", "mae"), ("squared", "rmse"), ("huber", "loss")])
def test_of_a_number(duckdb: Engine, loss: str, measure: str) -> None:
    text = QUERY.replace("o.late, o.amount", "o.amount AS late, o.late AS amount")
    with shop().created(duckdb):
        found = train(duckdb, "m", text, Training.of(label="late", lam="auto", loss=loss, measure=measure))
    assert found.chosen
    assert found.chosen.measure == measure
    assert found.lam < 1.0


@pytest.mark.parametrize("loss", ["absolute", "epsilon_insensitive", "quantile", "huber", "squared"])
def test_the_unit_of_the_label_does_not_matter(duckdb: Engine, loss: str) -> None:
    """In thousandths or in millions: the same weights times k, in as many passes, with a proof."""
    own = {"epsilon_insensitive": "tube", "huber": "delta"}.get(loss)
    with shop(300).created(duckdb):
        each = {}
        for k in (1.0, 1e-3, 1e6):
            text = QUERY.replace("o.late, o.amount", f"(o.amount + 0.3 * o.n1) * {k!r} AS late, o.late AS l")
            options = {own: 0.3 * k} if own else {}
            each[k] = train(duckdb, "m", text, Training.of(label="late", lam="auto", loss=loss, **options))
    first = each.pop(1.0)
    weights = first.weights.values
    for k, found in each.items():
        assert found.converged
        assert abs(found.passes - first.passes) <= 2
        assert found.weights.values / k == pytest.approx(weights, rel=0.01, abs=0.01 * abs(weights).max())


def test_of_several_classes(duckdb: Engine) -> None:
    text = QUERY.replace(
        "o.late", "CASE WHEN o.amount > 0.5 THEN 'a' WHEN o.amount > -0.5 THEN 'b' ELSE 'c' END AS late"
    )
    with shop().created(duckdb):
        found = train(duckdb, "m", text, Training.of(label="late", lam="auto"))
    assert found.chosen
    assert found.chosen.measure == "accuracy"
    assert found.chosen.best.mean > 0.6
    assert all(each.converged for each in found.classes)


def test_with_too_few_rows_there_is_no_choice(duckdb: Engine) -> None:
    with shop(40).created(duckdb):
        text = QUERY + " WHERE o.id < 4"
        found = train(duckdb, "m", text, Training.of(label="late", lam="auto"))
    assert found.chosen is None
    assert found.lam == 1e-4
    assert any("too few to choose by" in note for note in found.notes)


def test_rows_of_few_values_are_rows_nevertheless(duckdb: Engine) -> None:
    """Nine rows differ of 500: they are no nine examples, of which two parts may separate the classes by chance."""
    query = "SELECT 1 + (i * 7919) % 3 // 2 AS y, (i * 7919) % 3 + i % 4 AS a FROM range(500) AS t(i)"
    found = train(duckdb, "m", query, Training.of(**named({"label": "y", **dict.fromkeys(UNNAMED)})))
    assert found.chosen
    assert (found.chosen.rows, len(found.chosen.best.parts)) == (500, 5)
    rows = duckdb.fetch(parse_one(query, read="duckdb"))
    assert found.chosen.best.mean == pytest.approx(roc_auc_score(rows["y"] == 2, rows["a"]), abs=0.05)
    assert not any("alone tells" in note for note in found.notes)


def test_of_few_rows_with_the_label_alone_those_of_the_join_are_new(duckdb: Engine) -> None:
    """The kind of an animal that was seen: few kinds are known, and each sighting is to be told apart."""
    rng = np.random.default_rng(3)
    of, m = rng.integers(0, 12, 900), 12
    seen = {"species": of, "weight": of % 2 + rng.normal(size=900)}
    kinds = {"id": np.arange(m), "rodent": np.arange(m) % 2 == 0, "size": np.arange(m) * 1.0}
    schema = """
        CREATE TABLE kinds (id INT PRIMARY KEY, rodent BOOL, size FLOAT8);
        CREATE TABLE seen (species INT, weight FLOAT8)"""
    text = "SELECT k.rodent, s.weight{} FROM seen s JOIN kinds k ON k.id = s.species"
    with Join(schema, {"kinds": kinds, "seen": seen}, text.format("")).created(duckdb):
        alone, own = (
            train(duckdb, "m", text.format(more), Training.of(label="rodent", lam="auto")) for more in ("", ", k.size")
        )
    assert alone.chosen
    assert (alone.chosen.rows, alone.chosen.of) == (900, "the join")
    assert alone.chosen.share == pytest.approx(0.8)
    assert own.chosen is None or own.chosen.rows == 12


def test_what_the_model_says_of_it(duckdb: Engine) -> None:
    with shop().created(duckdb):
        found = trained(duckdb, lam="auto", loss="auto")
    text = draw_training(found, "kept", StringIO())
    assert "chosen" in text
    assert "cross-validated in 5 parts of rows at random" in text
    read = Model.from_json(found.as_json())
    assert read.chosen == found.chosen
    page = html(Report(read), datetime(2024, 1, 1))
    assert "What was chosen" in page
    assert 'id="choice"' in page


def test_what_does_not_go_together() -> None:
    for options, said in (
        ({"lam": "auto", "l1": "auto"}, "one of them is chosen"),
        ({"measure": "auc"}, "measure decides what auto chooses"),
        ({"lam": "auto", "solver": "descent", "scale": "maxabs"}, "descent takes no lam='auto'"),
        ({"lam": "auto", "loss": "absolute", "measure": "auc"}, "measure='auc' is not for a label with a number"),
        ({"loss": "auto", "measure": "loss"}, "loss='auto' compares losses"),
    ):
        with pytest.raises(OptionError, match=said):
            Training.of(label="late", **options)


def test_a_program_of_psql_carries_what_was_chosen(installed: Engine, installed_dsn: str) -> None:
    with shop(300).created(installed):
        compiled(installed, "late", QUERY, by_default(sample=3000))
        chosen = in_psql(installed, installed_dsn, "late")
        given = in_psql(installed, installed_dsn, "late", **{"lambda": 0.02})
    assert chosen.lam in STRENGTHS
    assert chosen.lam != 1e-4
    assert chosen.converged
    assert given.lam == 0.02
    assert given.loss == chosen.loss


def by_default(**options: object) -> Training:
    """As a user trains who names no lambda and no loss."""
    return Training.of(**named({"label": "late", **dict.fromkeys(UNNAMED), **options}))


def test_nobody_has_to_name_lambda(duckdb: Engine) -> None:
    with shop().created(duckdb):
        found = train(duckdb, "m", QUERY, by_default())
        given = train(duckdb, "m", QUERY, by_default(lam=1e-4))
        fixed = train(duckdb, "m", QUERY, Training.of(label="late"))
        of_python = RelationalSVC(verbose=False).fit(duckdb, QUERY, "late").model_
    assert found.chosen
    assert {each.loss for each in found.chosen.tried} == {"hinge", "squared_hinge", "logistic"}
    assert (of_python.lam, of_python.loss) == (found.lam, found.loss)
    assert given.chosen is None
    assert (given.lam, given.loss) == (1e-4, "hinge")
    assert given.objective == pytest.approx(fixed.objective, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"by": "customer_id"}, "by"),
        ({"l1": 0.01}, "l1"),
        ({"l1": "auto"}, "l1"),
        ({"constrain": ("nonnegative",)}, "constrain"),
        ({"solver": "kernel", "sample": 100}, "solver='kernel'"),
        ({"solver": "descent", "scale": "maxabs", "max_passes": 2}, "solver='descent'"),
        ({"map": ("net:v:2",), "sample": 300}, "map='net'"),
    ],
)
def test_what_trained_without_a_choice_still_does(
    duckdb: Engine, options: dict[str, object], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with shop(200).created(duckdb), caplog.at_level(NOTE, "sqlsvm"):
        found = train(duckdb, "m", QUERY, by_default(**options))
    assert found.lam == 1e-4
    assert found.loss == "hinge"
    assert (found.chosen is None) == (options.get("l1") != "auto")
    assert f"lambda is 0.0001, its default: none is chosen with {why}" in caplog.text


@pytest.mark.slow
def test_where_there_is_little_to_choose_by_lambda_has_its_default(duckdb: Engine) -> None:
    """Few rows, and a class that is in no more than one part."""
    with shop(40).created(duckdb):
        few = train(duckdb, "m", f"{QUERY} WHERE o.id < 4", by_default())
        rare = train(duckdb, "m", QUERY.replace("o.late", "o.id = 3 AS late"), by_default())
    for found in (few, rare):
        assert (found.chosen, found.lam, found.loss) == (None, 1e-4, "hinge")
        assert any("lam and loss have their defaults" in note for note in found.notes)


@pytest.mark.slow
def test_of_numbers_lambda_alone_is_chosen(duckdb: Engine) -> None:
    cases = "CASE WHEN o.amount > 0.5 THEN 'a' WHEN o.amount > -0.5 THEN 'b' ELSE 'c' END AS late"
    three = QUERY.replace("o.late", cases)
    number = QUERY.replace("o.late, o.amount", "o.amount AS late, o.late AS amount")
    with shop(300).created(duckdb):
        for text, options, chosen in ((three, {}, ("lam", "loss")), (number, {"loss": "huber"}, ("lam",))):
            found = train(duckdb, "m", text, by_default(**options))
            assert found.chosen
            assert found.chosen.options == chosen
            assert found.loss == options.get("loss", found.chosen.loss)


def test_probabilities_come_from_the_rows_of_the_choice(duckdb: Engine) -> None:
    """They are those of new rows; another training is not made."""
    with shop(1200).created(duckdb):
        model = train(duckdb, "m", f"{QUERY} WHERE o.id < 900", by_default())
        assert model.probability
        rows = duckdb.fetch(predict(duckdb, model, f"{QUERY} WHERE o.id >= 900", probability=True))
    likely, late = rows["probability"].astype(float), rows["late"].astype(bool)
    assert likely.mean() == pytest.approx(late.mean(), abs=0.08)
    assert ((likely - late) ** 2).mean() < 0.95 * ((late.mean() - late) ** 2).mean()


FEW_COLUMNS = "SELECT f.x > 0.0 AS late, f.v FROM f WHERE f.id % 4 {} 0"
"""One column, so that every penalty orders the rows alike: the strongest is chosen."""


@pytest.fixture
def one_column(engine: Engine) -> Engine:
    rng = np.random.default_rng(4)
    v = rng.normal(size=3000)
    rows = {"id": np.arange(3000), "v": 3.0 * v + 7.0, "x": 2.0 * v - 1.0 + rng.logistic(size=3000)}
    Join("CREATE TABLE f (id INT, v FLOAT8, x FLOAT8)", {"f": rows}, FEW_COLUMNS).create(engine)
    return engine


def right(rows: Rows) -> tuple[float, float]:
    """The share of rows of which the class is right, and the mean log loss."""
    late, likely = rows["late"].astype(bool), rows["probability"].astype(float)
    return float((rows["prediction"].astype(bool) == late).mean()), float(
        -np.log(np.where(late, likely, 1 - likely)).mean()
    )


@pytest.mark.parametrize("options", [{}, {"in_memory": 0, "sample": 1500}, {"time": "id"}])
def test_after_a_strong_penalty_classes_and_probabilities_are_those_of_a_weak_one(
    one_column: Engine, options: dict[str, object]
) -> None:
    """Its scores differ less than the intercepts of the parts do."""
    text = FEW_COLUMNS.replace("f.v FROM", "f.v, f.id FROM") if options.get("time") else FEW_COLUMNS
    model = train(one_column, "m", text.format("<>"), by_default(**options))
    seen, new = (
        one_column.fetch(predict(one_column, model, text.format(sign), probability=True)) for sign in ("<>", "=")
    )
    peer = LogisticRegression(C=1e6).fit(seen["v"].astype(float)[:, None], seen["late"].astype(bool))
    likely = peer.predict_proba(new["v"].astype(float)[:, None])[:, 1]
    late = new["late"].astype(bool)
    assert model.lam == STRENGTHS[0]
    accuracy, loss = right(new)
    assert accuracy == pytest.approx(((likely > 0.5) == late).mean(), abs=0.01)
    assert loss == pytest.approx(-np.log(np.where(late, likely, 1 - likely)).mean(), abs=0.01)
    assert not any("predicts" in note for note in model.notes)


@pytest.mark.slow
def test_so_are_the_classes_of_a_fold_and_of_a_program(installed: Engine, installed_dsn: str) -> None:
    rng = np.random.default_rng(4)
    v = rng.normal(size=3000)
    rows = {"id": np.arange(3000), "v": 3.0 * v + 7.0, "x": 2.0 * v - 1.0 + rng.logistic(size=3000)}
    text = FEW_COLUMNS.format("<>")
    with Join("CREATE TABLE f (id INT, v FLOAT8, x FLOAT8)", {"f": rows}, FEW_COLUMNS).created(installed):
        compiled(installed, "few", text, by_default(sample=1000))
        in_sql = evaluate_model(installed, in_psql(installed, installed_dsn, "few"))
        model = RelationalSVC(folds=3, verbose=False).fit(installed, text, "late").model_
        measured = evaluate_model(installed, model)
    assert in_sql.accuracy.value == pytest.approx(measured.accuracy.value, abs=0.02)
    assert model.validation["accuracy"].mean == pytest.approx(measured.accuracy.value, abs=0.01)
    assert measured.accuracy.value > 0.75
    assert model.validation["loss"].mean == pytest.approx(model.objective, abs=0.01)  # a strong penalty leaves it small


def test_a_class_is_a_threshold_on_the_score(engine: Engine) -> None:
    """Whatever predicts has the threshold of a model."""
    with shop(600).created(engine):
        plain = trained(engine, lam=1e-2)
        found = replace(plain, threshold=0.4)
        before, asked = (engine.fetch(predict(engine, model)) for model in (plain, found))
        measured = evaluate_model(engine, found)
    scores, late = asked["score"].astype(float), asked["late"].astype(bool)
    assert sorted(scores) == pytest.approx(np.sort(before["score"].astype(float)) - 0.4, abs=1e-9)
    assert ((scores > 0.0) == asked["prediction"].astype(bool)).all()
    assert memory.scores(found, dict(asked)) == pytest.approx(scores, abs=1e-9)
    assert measured.accuracy.value == pytest.approx(((scores > 0.0) == late).mean(), abs=1e-9)
    assert Model.from_json(found.as_json()).threshold == 0.4


def test_where_a_class_is_rare_both_matrices_are_told(duckdb: Engine) -> None:
    text = QUERY.replace("o.late,", "o.late AND o.n1 > 1.0 AS late,")
    with shop().created(duckdb):
        found = train(duckdb, "m", text, by_default())
        equal = train(duckdb, "m", text, by_default(class_weight="balanced"))
    (note,) = (note for note in found.notes if "have late" in note)
    rare, others, balanced, balanced_others = (
        [int(n) for n in pair] for pair in re.findall(r"(\d+) of (\d+)", note.replace(",", ""))
    )
    assert rare[1] + others[1] == balanced[1] + balanced_others[1]
    assert balanced[0] > rare[0]
    assert not any("have late" in note for note in equal.notes)


def fails_in_numpy(training: Training, each: Problems) -> Settled:
    raise np.linalg.LinAlgError("Singular matrix")


def fails_in_the_database(training: Training, each: Problems) -> Settled:
    """In PostgreSQL the transaction takes no more statements then."""
    each.data.work.engine.fetch(parse_one("SELECT CAST('x' || 1 AS INT) AS n"))
    raise AssertionError("the database has taken it")


@pytest.mark.slow
@pytest.mark.parametrize(("fails", "said"), [(fails_in_numpy, "Singular matrix"), (fails_in_the_database, "x1")])
def test_a_choice_by_default_that_fails_ends_no_training(
    engine: Engine,
    fails: Callable[[Training, Problems], Settled],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(choosing, "settle", fails)
    with shop(300).created(engine), caplog.at_level(NOTE, "sqlsvm"):
        found = train(engine, "m", QUERY, by_default())
        with pytest.raises(Exception, match=said):
            train(engine, "m", QUERY, by_default(lam="auto"))
    assert (found.chosen, found.lam, found.loss, found.converged) == (None, 1e-4, "hinge", True)
    assert "lambda is 0.0001, its default: choosing it failed" in caplog.text
    assert said in caplog.text


@pytest.mark.slow
def test_rows_that_cannot_be_told_apart_end_no_training(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Statements that only the choice adds to fail in the database."""
    wrong = parse_one("CAST('x' || 1 AS INT)")
    monkeypatch.setattr(split, "row_hash", lambda *_: wrong.copy())
    with shop(300).created(engine), caplog.at_level(NOTE, "sqlsvm"):
        found = train(engine, "m", QUERY, by_default(in_memory=0, sample=1000))
        within_psql = settled_on(engine, QUERY, by_default())
    assert (found.chosen, found.lam, found.converged) == (None, 1e-4, True)
    assert (within_psql.chooses, within_psql.lam) == ((), 1e-4)
    assert "choosing it failed" in caplog.text
