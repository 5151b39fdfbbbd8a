"""examples/hospital: its page's commands run, its story is true, and what it trains is proven."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest

from examples.hospital.load import HERE, hospital, load
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text, Values
from sqlsvm.model.memory import scores
from sqlsvm.run.train import train
from sqlsvm.show.training import draw_training
from tests.docs.markdown import blocks, section
from tests.docs.sessions import commands, played, says
from tests.ground.opened import truth
from tests.ground.trained import ROUNDING, assert_beside_liblinear, assert_proven, training, wish_of
from tests.typed import asked

PAGE = (HERE / "README.md").read_text(encoding="utf-8")
BY_ROW, BY_STAY = ((HERE / name).read_text(encoding="utf-8") for name in ("query.sql", "by_stay.sql"))
STAYS = 12


def rows_of_stays(stays: int) -> Values:
    """How many rows of the join each stay is part of."""
    tables = hospital(stays)
    notes = ("diagnoses", "prescriptions", "panels", "vitals")
    counts: Values = np.prod([np.bincount(tables[t]["stay"], minlength=stays + 1)[1:] for t in notes], axis=0)
    return counts


def test_the_queries_are_those_of_the_page() -> None:
    assert BY_ROW in PAGE
    first, *_ = blocks(PAGE, "sql")
    (shares,) = blocks(section(PAGE, "Every stay counts the same"), "sql")
    assert first.text == BY_ROW
    expected = BY_ROW.replace("FROM stays s\n", shares.text).replace(".temperature", ".temperature,\n       s.share")
    assert expected == BY_STAY


def test_ten_stays_are_half_of_the_join() -> None:
    every = np.sort(rows_of_stays(5000))[::-1]
    assert f"{int(every.sum()):,} rows" in PAGE
    assert every[:9].sum() < every.sum() / 2 <= every[:10].sum()
    assert np.median(every) == pytest.approx(80, abs=1)


def test_the_model_is_proven(engine: Engine) -> None:
    load(engine, STAYS)
    asked = training("readmitted", lam=1e-3)
    rows = truth(engine, BY_ROW, wish_of(asked))
    model = train(engine, "by_row", BY_ROW, asked)
    assert model.converged
    assert model.join_rows == rows_of_stays(STAYS).sum()
    assert_proven(engine, model, rows)
    assert_beside_liblinear(model, rows, max_iter=100)


def test_every_stay_counts_the_same(duckdb: Engine) -> None:
    """The objective is that of the join as it stands, each of its rows with its share."""
    load(duckdb, STAYS)
    model = train(duckdb, "by_stay", BY_STAY, training("readmitted", weight="share", lam=1e-3, scale="maxabs"))
    assert model.converged
    assert model.join_rows == pytest.approx(STAYS)
    rows = duckdb.fetch(Text(BY_STAY))
    margins = np.where(rows["readmitted"].astype(bool), 1, -1) * scores(model, rows)
    hinge = np.average(np.maximum(0, 1 - margins), weights=rows["share"].astype(float))
    penalty = model.lam * (model.intercept**2 + sum(w.scaled_weight**2 for w in model.weights))
    assert model.objective - ROUNDING <= hinge + penalty <= model.objective_upper + ROUNDING
    assert f"rows of total weight {STAYS}, with " in draw_training(model, "here", io.StringIO())


@pytest.mark.slow
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    """In one shell and in their order, on all of its rows."""
    wanted = [command for block in blocks(PAGE, "console") for command in commands(block)]
    for path in HERE.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    for command, (status, got) in zip(wanted, played(tmp_path, wanted), strict=True):
        assert status == 0, f"{command.text}\n{got}"
        assert says(got, "\n".join(command.printed)), f"$ {command.text}\n{got}"
    *_, last = blocks(PAGE, "sql")
    with connect(f"duckdb:{tmp_path / 'hospital.duckdb'}") as engine:
        (score,) = next(iter(asked(engine, last.text).values()))
    assert score > 0


def test_the_page_is_where_the_script_is() -> None:
    files = {path.name for path in HERE.iterdir() if path.is_file()}
    assert files == {"README.md", "by_stay.sql", "compare.py", "load.py", "query.sql", "tables.sql"}
