"""`sqlsvm report`: a page that looks right in a browser, and pictures."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sqlsvm.engine import connect
from sqlsvm.store import open_store
from tests.cli.command import sqlsvm, started
from tests.cli.test_train_command import filled, train
from tests.ground.browser import Browser, browser
from tests.ground.models import model

LONG = "a_rather_long_name_of_a_column_" * 2


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A DuckDB file with a model whose names are as long as PostgreSQL has them."""
    dsn = filled(f"duckdb:{tmp_path_factory.mktemp('report') / 'x.duckdb'}")
    query = f'SELECT a.y, a.x, b.tone AS "{LONG}", b.z AS "<u>$x$" FROM a JOIN b ON a.k = b.k'
    assert train(dsn, "--lambda", 0.01, query=query).returncode == 0
    return dsn


@pytest.fixture(scope="module")
def page(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    done = sqlsvm("report", "model", "--dsn", dsn, "-o", file)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"the report is in {file}\n", "")
    return file


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found


OUT_OF_THE_PICTURE = """[...document.querySelectorAll('main svg[role=img]')].flatMap(svg => {
    const { width, height } = svg.viewBox.baseVal;
    return [...svg.querySelectorAll('text:not([transform])')].filter(text => {
        const box = text.getBBox();
        return box.x < -0.5 || box.y < -0.5 || box.x + box.width > width + 0.5 || box.y + box.height > height + 0.5;
    }).map(text => `${svg.id || svg.textContent.slice(0, 20)}: ${text.textContent}`);
})"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1200])
def test_in_a_browser(chromium: Browser, page: Path, width: int, scheme: str) -> None:
    chromium.show(page, width, scheme)
    assert chromium.ask("document.documentElement.scrollWidth") == width, "nothing is wider than the screen"
    assert chromium.ask(OUT_OF_THE_PICTURE) == []
    paper = chromium.ask("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 254, 249)", "dark": "rgb(22, 22, 21)"}[scheme]
    assert chromium.ask("document.querySelectorAll('figure > svg').length") == 5
    assert [r["request"]["url"] for r in chromium.heard("Network.requestWillBeSent")] == [page.as_uri()]
    assert chromium.heard("Log.entryAdded") == []
    assert chromium.heard("Runtime.exceptionThrown") == []


# -- on the command line -----------------------------------------------------------------------------------------------


def test_to_stdout_without_a_database(dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "late.json"
    open_store(file).save(model())
    done = sqlsvm("report", "--model-file", file, "-o", "-", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("<!doctype html>\n<html lang=")
    assert done.stdout.endswith("</html>\n")
    assert done.stderr == (
        "note: the report has no join tree, scores, ROC curve and confusion matrix: "
        "no database was named; --dsn URL names one\n"
    )
    assert list(tmp_path.iterdir()) == [file]


def test_only_a_report_is_overwritten(dsn: str, tmp_path: Path) -> None:
    with connect(dsn) as engine:
        found = open_store(engine).load("model")
    open_store(tmp_path / "m.json").save(found)
    report = ("report", "--model-file", tmp_path / "m.json")
    for _ in range(2):
        assert sqlsvm(*report, cwd=tmp_path).returncode == 0
    (tmp_path / "mine.html").write_text("<p>precious")
    done = sqlsvm(*report, "-o", "mine.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: mine.html exists already and is not a report\nHINT: choose another name: -o other.html\n"
    )
    assert (tmp_path / "mine.html").read_text() == "<p>precious"


def test_to_stdout_by_another_name(tmp_path: Path) -> None:
    """Nothing is said after the page."""
    open_store(tmp_path / "late.json").save(model())
    done = sqlsvm("report", "--model-file", tmp_path / "late.json", "-o", "/dev/stdout")
    assert done.returncode == 0
    assert done.stdout.startswith("<!doctype html>\n<html lang=")
    assert done.stdout.endswith("</html>\n")


@pytest.mark.slow
def test_into_a_pipe(tmp_path: Path) -> None:
    """It is not looked into for a report of ours, which would wait for ever, and not replaced."""
    open_store(tmp_path / "late.json").save(model())
    pipe, page = tmp_path / "page.html", b""
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with started("report", "--model-file", tmp_path / "late.json", "-o", pipe) as child:
        while child.poll() is None:
            with suppress(BlockingIOError):
                page += os.read(reading, 1 << 20)
        child.kill()
        assert child.wait() == 0
        page += os.read(reading, 1 << 20)
    os.close(reading)
    assert page.endswith(b"</html>\n")
    assert pipe.is_fifo()


def test_a_folder_that_is_not_there(dsn: str, tmp_path: Path) -> None:
    open_store(tmp_path / "m.json").save(model())
    done = sqlsvm("report", "--model-file", tmp_path / "m.json", "-o", "no/such/report.html", cwd=tmp_path)
    assert done.returncode == 1
    assert "error: cannot write no/such/report.html\nDETAIL: " in done.stderr


def test_a_model_that_is_not_there(dsn: str) -> None:
    done = sqlsvm("report", "modle", "--dsn", dsn)
    assert (done.returncode, done.stderr) == (1, 'error: there is no model "modle"\nHINT: did you mean model?\n')


@pytest.mark.slow
def test_pictures(dsn: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    done = sqlsvm("report", "--dsn", dsn, "--png", "pics", "--png", "roc.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = {file.name: file.read_bytes() for file in (*(tmp_path / "pics").iterdir(), tmp_path / "roc.png")}
    assert sorted(made) == ["convergence.png", "gap.png", "roc.png", "scores.png"]
    assert all(png.startswith(b"\x89PNG") and len(png) > 10_000 for png in made.values())


def test_a_picture_that_there_is_none_of(dsn: str) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    done = sqlsvm("report", "--dsn", dsn, "--png", "rok.png")
    assert (done.returncode, done.stderr) == (1, "error: there is no chart rok\nHINT: did you mean roc?\n")


def test_pictures_without_matplotlib(dsn: str, tmp_path: Path) -> None:
    """A module of that name that cannot be imported stands before the real one."""
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    done = sqlsvm("report", "--dsn", dsn, "--png", "roc.png", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: a chart needs matplotlib\nHINT: pip install 'sqlsvm[plots]'\n"
