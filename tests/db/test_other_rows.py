"""A model measured on other rows than those of its query, and which rows are named first."""

import io
from pathlib import Path

import numpy as np
import pytest

from sqlsvm import RelationalSVC
from sqlsvm.ask.evaluate import measure_held_out
from sqlsvm.ask.rows import of_input, of_query, on_all, where
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import OptionError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.run.train import train
from sqlsvm.show.training import draw_certificate
from tests.db.test_time import QUERY, orders
from tests.ground.trained import training
from tests.typed import asked, typed


def measured(engine: Engine, model: Model) -> Evaluation:
    found = on_all(engine, model, lambda problem: measure_held_out(problem, model))
    assert isinstance(found, Evaluation)
    return found


def check(found: Evaluation, model: Model, rows: Rows) -> None:
    y = rows["y"].astype(bool)
    own = {w.feature: w.weight for w in model.weights}
    scores = model.intercept + sum(own[name] * rows[name].astype(float) for name in own)
    assert (found.negatives, found.positives) == ((~y).sum(), y.sum())
    assert found.accuracy
    assert found.accuracy.value == pytest.approx((y == (scores > 0)).mean())
    assert found.intervals["accuracy"].standard_error > 0


def test_other_queries_and_conditions(engine: Engine) -> None:
    orders(engine)
    model = train(engine, "m", f"{QUERY} WHERE o.n < 60", training(lam=1e-2))
    text = f"{QUERY} WHERE o.n >= 60"
    check(measured(engine, of_query(engine, model, text)), model, asked(engine, text))
    late = where(engine, model, "o.n >= 20 OR v.m > 1")
    check(measured(engine, late), model, asked(engine, f"{QUERY} WHERE o.n < 60 AND (o.n >= 20 OR v.m > 1)"))
    with pytest.raises(OptionError, match="this is no condition"):
        where(engine, model, "o.n >=")
    text = f"SELECT s.y, s.x, s.m FROM ({QUERY}) AS s GROUP BY s.y, s.x, s.m"
    grouped = train(engine, "m", text, training(lam=1e-2))
    check(measured(engine, where(engine, grouped, "x > 0")), grouped, asked(engine, f"{QUERY} WHERE o.x > 0"))


def test_tables_and_files(duckdb: Engine, tmp_path: Path) -> None:
    """Columns are found by name; others are not read."""
    orders(duckdb)
    model = train(duckdb, "m", QUERY, training(lam=1e-2, time="day", holdout=0.2))
    typed(duckdb, f"CREATE TABLE later AS SELECT s.m AS \"M\", s.x, s.y, 'a' AS word FROM ({QUERY}) AS s")
    rows = asked(duckdb, QUERY)
    check(measured(duckdb, of_input(duckdb, model, "later")), model, rows)
    some = of_input(duckdb, model, "SELECT * FROM later WHERE x > 0")
    check(measured(duckdb, some), model, {name: values[rows["x"].astype(float) > 0] for name, values in rows.items()})
    np.savetxt(
        tmp_path / "later.csv",
        np.column_stack([rows["y"].astype(int), rows["x"], rows["m"]]).astype(float),
        delimiter=",",
        header="y,x,m",
        comments="",
        fmt="%.17g",
    )
    check(measured(duckdb, of_input(duckdb, model, str(tmp_path / "later.csv"))), model, rows)
    with pytest.raises(OptionError, match="the rows have no column y, which model m needs"):
        of_input(duckdb, model, "SELECT x, m FROM later")


@pytest.mark.parametrize("in_memory", [0, None])
def test_the_rows_held_out_are_measured_by_the_training(engine: Engine, in_memory: int | None) -> None:
    orders(engine)
    svc = RelationalSVC(1e-2, holdout=0.2, time="n", in_memory="auto" if in_memory is None else in_memory)
    model = svc.fit(engine, QUERY, "y").model_
    rows = asked(engine, f"{QUERY} WHERE n >= 80")
    right = rows["y"].astype(bool) == (svc.decision_function({name: rows[name] for name in ("x", "m")}) > 0)
    assert model.validation["accuracy"].mean == pytest.approx(right.mean())
    assert 0 < (model.validation["accuracy"].standard_error or 0.0) < 0.1
    lines = draw_certificate(model, "not kept", io.StringIO()).splitlines()
    assert lines[1].startswith("unseen")
    assert any("on the rows held out" in line for line in lines)
