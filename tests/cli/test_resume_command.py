"""`sqlsvm train --resume`: what is left of a training that somebody or something ended, and what it goes on to."""

import json
import os
import signal
import subprocess
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from sqlsvm.cli.resuming import Keeper
from sqlsvm.engine import connect
from sqlsvm.engine.base import Text
from sqlsvm.run.resume import Part, Past, Saved
from sqlsvm.store import open_store
from tests.cli.command import COMMAND, ROOT, environment, sqlsvm, started
from tests.cli.test_interrupt import WORKING_TABLES, number
from tests.faults.cluster import cluster
from tests.ground.joins import chain
from tests.typed import typed
from tests.waiting import eventually

JOIN = chain(np.random.default_rng(1), rows=1500, fan_out=4)
OPTIONS = ("--query", JOIN.query, "--label", "y", "--name", "late", "--lambda", "1e-3", "--solver", "bundle")
ENDLESS = (*OPTIONS, "--tol", "0")
LOOSE = (*OPTIONS, "--tol", "0.1", "--json")


@pytest.fixture(params=["postgres", "duckdb"])
def dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    url = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else f"duckdb:{tmp_path / 'x.duckdb'}"
    with connect(url) as engine:
        JOIN.create(engine)
    return str(url)


def ended(child: subprocess.Popen[str], how: Any, after: int = 2) -> tuple[int, list[str]]:
    """The exit code and stderr of a training that something happens to after some passes."""
    assert child.stderr
    with child:
        try:
            told = (line for line in child.stderr if not line.startswith("about ") and not line.endswith(" ...\n"))
            lines = list(islice(told, after))
            assert lines[-1].startswith(f"pass {after} "), (lines, child.poll())
            how()
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert out == ""
    return child.returncode, [*lines, *(line for line in err.splitlines() if not line.endswith(" ..."))]


def passes_kept(lines: list[str]) -> int:
    """As the note says."""
    (note,) = [line for line in lines if line.startswith("note: ")]
    words = note.split()
    assert words[2:6] in (["passes", "are", "kept", "in"], ["pass", "is", "kept", "in"])
    assert note.endswith("; the same command with --resume goes on from there")
    return int(words[1])


def test_weights_without_a_digest_promise_no_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that were never identified may be others when it goes on."""
    place = str(tmp_path / "m.json")
    Keeper(open_store(place), place).keep({"m": Saved({}, None, (Part((), (Past(np.zeros(0), 2, None),)),))})
    assert capsys.readouterr().err == (
        f"note: 2 passes are kept in {place}; the same command with --resume begins anew from their best weights\n"
    )


def resumes(dsn: str, *more: object) -> tuple[str, dict[str, Any]]:
    """The note, and the model."""
    done = sqlsvm("train", "--dsn", dsn, *LOOSE, "--resume", *more)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[0], json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_interrupted_and_resumed(dsn: str, end: signal.Signals, code: int) -> None:
    child = started("train", "--dsn", dsn, *ENDLESS)
    returned, lines = ended(child, lambda: child.send_signal(end))
    kept = passes_kept(lines)
    assert (returned, lines[-1]) == (code, "interrupted")
    assert kept >= 2
    with connect(dsn) as engine:
        assert not [n for n in engine.table_names() if n.startswith("sqlsvm_")]
    note, model = resumes(dsn)
    assert (
        note
        == f"note: resuming after {kept} passes: the rows and the options are the same, so what was proven still is"
    )
    assert model["converged"]
    assert model["passes"] == len(model["history"]) >= kept
    nothing = f"note: nothing to resume: late, version {model['version']}, had converged, and the rows are the same"
    assert resumes(dsn) == (nothing, model)


@pytest.mark.slow
def test_passes_are_kept_if_the_reader_of_the_answer_has_gone(tmp_path: Path) -> None:
    """As after `sqlsvm train ... | head -0`."""
    dsn = f"duckdb:{tmp_path / 'x.duckdb'}"
    with connect(dsn) as engine:
        JOIN.create(engine)
    ours, theirs = os.pipe()
    os.close(ours)
    command = [*COMMAND, "train", "--dsn", dsn, *ENDLESS, "--max-passes", "2"]
    done = subprocess.run(command, env=environment(), cwd=ROOT, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert done.returncode == 128 + signal.SIGPIPE
    assert passes_kept(done.stderr.splitlines()) == 2


@pytest.mark.slow
def test_a_lost_connection(postgres_dsn: str) -> None:
    """The state is kept by way of a new one."""
    with connect(postgres_dsn) as engine:
        JOIN.create(engine)

    def cut() -> None:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = $1"
        with connect(postgres_dsn) as engine, psycopg.connect(postgres_dsn) as connection:
            (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
            engine.fetch(Text(others + " AND application_name = 'sqlsvm' AND state <> 'idle'"), [name])

    code, lines = ended(started("train", "--dsn", postgres_dsn, *ENDLESS), cut)
    assert code == 1
    assert passes_kept(lines) >= 2
    assert any(line.startswith("error: the connection to ") and line.endswith(" was lost") for line in lines)
    assert resumes(postgres_dsn)[0].endswith("so what was proven still is")


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_a_restart_of_the_server(several: bool) -> None:
    """The training waits for it, and loses no pass."""
    with cluster() as server:
        with connect(server.dsn) as engine:
            JOIN.create(engine)
        values = ("--lambda", "1e-2,1e-3") if several else ()
        child = started("train", "--dsn", server.dsn, *OPTIONS, "--tol", "1e-7", "--json", *values)
        assert child.stderr
        with child:
            first = list(islice((line for line in child.stderr if " pass " in f" {line}"), 3))
            server.stop()
            server.start()
            out, err = child.communicate(timeout=120)
        assert child.returncode == 0, err
        assert "note: the server was restarted; the training goes on from its passes so far" in err
        assert "the rows and the options are the same, so what was proven still is" in err
        models = json.loads(out) if several else [json.loads(out)]
        made = [int(line.split("pass ")[1].split()[0]) for line in (*first, *err.splitlines()) if "pass " in line[:20]]
        assert sum(len(model["history"]) for model in models) >= 4, made
        for model in models:
            assert model["lower_bound"] <= model["objective_upper"]
            assert model["gap"] <= 1e-7
        with connect(server.dsn) as engine:
            assert len(open_store(engine).models()) == len(models)
            assert open_store(engine).load_state("late") is None


@pytest.mark.slow
def test_a_second_interrupt_ends_at_once(postgres_dsn: str) -> None:
    """Even where the first one is still about to keep what there is."""
    with connect(postgres_dsn) as engine:
        JOIN.create(engine)
    assert sqlsvm("train", "--dsn", postgres_dsn, *OPTIONS, "--max-passes", 1).returncode == 3
    child = started("train", "--dsn", postgres_dsn, *ENDLESS)
    waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'sqlsvm'"
    with psycopg.connect(postgres_dsn) as holder:

        def twice() -> None:
            holder.execute("LOCK TABLE sqlsvm.schema_version IN ACCESS EXCLUSIVE MODE")
            child.send_signal(signal.SIGINT)
            eventually(lambda: number(postgres_dsn, waiting))
            child.send_signal(signal.SIGINT)

        code, lines = ended(child, twice)
    assert (code, lines[-1]) == (130, "interrupted")
    assert not any(line.startswith("note: ") for line in lines)
    assert number(postgres_dsn, WORKING_TABLES) == 0


@pytest.mark.slow
def test_a_state_beside_a_model_file(tmp_path: Path) -> None:
    """Also without a model, for there was none yet; it goes when the training has come to an end."""
    dsn, file = f"duckdb:{tmp_path / 'x.duckdb'}", tmp_path / "late.json"
    with connect(dsn) as engine:
        JOIN.create(engine)
    child = started("train", "--dsn", dsn, *ENDLESS, "--model-file", file)
    _, lines = ended(child, lambda: os.kill(child.pid, signal.SIGINT))
    assert passes_kept(lines) >= 2
    assert f" kept in {file};" in "".join(lines)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".duckdb"] == ["late.json.state"]
    done = sqlsvm("train", "--dsn", dsn, *OPTIONS, "--max-passes", 1, "--tol", 0, "--resume", "--model-file", file)
    assert done.returncode == 3
    assert passes_kept(done.stderr.splitlines()[1:]) == passes_kept(lines) + 1
    assert resumes(dsn, "--model-file", file)[0].endswith("so what was proven still is")
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".duckdb"] == ["late.json"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    dsn = f"duckdb:{tmp_path_factory.mktemp('resume') / 'x.duckdb'}"
    with connect(dsn) as engine:
        JOIN.create(engine)
    return dsn


def test_nothing_to_resume(shop: str) -> None:
    note, model = resumes(shop, "--name", "early")
    assert note == 'note: no unfinished training of "early" is kept here: it is trained from the start'
    assert model["converged"]
    done = sqlsvm("train", "--dsn", "duckdb:", *OPTIONS, "--resume")
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        "error: there is nothing to resume: no model is stored here",
        "HINT: --model-file keeps model and passes in a file",
    ]


@pytest.mark.slow
def test_another_training_of_that_name_has_finished(shop: str) -> None:
    assert sqlsvm("train", "--dsn", shop, *OPTIONS, "--tol", 0.5).returncode == 0
    done = sqlsvm("train", "--dsn", shop, *OPTIONS, "--tol", 0.4, "--resume")
    assert done.returncode == 0
    assert 'no unfinished training of "late" is kept here: it is trained from the start' in done.stderr


CHANGES = {"r": "UPDATE r SET c = c + 1 WHERE j = (SELECT MIN(j) FROM r)", "l": "INSERT INTO l SELECT * FROM l LIMIT 1"}


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--offload",), ("--holdout", "0.2", "--split-by", "j")], ids=str)
def test_other_rows_are_trained_on(postgres_dsn: str, more: tuple[str, ...]) -> None:
    """A training that had converged is no answer for rows that have changed."""
    with connect(postgres_dsn) as engine:
        JOIN.create(engine)
        note, model = resumes(postgres_dsn, *more)
        assert note.endswith("it is trained from the start")
        had = f"late, version {model['version']}, had converged"
        assert resumes(postgres_dsn, *more) == (f"note: nothing to resume: {had}, and the rows are the same", model)
        for table, change in CHANGES.items():
            typed(engine, change)
            had = f"late, version {model['version']}, had converged"
            note, anew = resumes(postgres_dsn, *more)
            assert note == f"note: training from the start: {had}, but the rows of {table} have changed"
            assert anew["version"] == model["version"] + 1
            model = anew
        with psycopg.connect(postgres_dsn) as connection:  # as a program stores it
            connection.execute("UPDATE sqlsvm.versions SET body = (body::jsonb #- '{trained_on,digests}')::text")
        note, _ = resumes(postgres_dsn, *more)
        assert note.endswith("had converged, but its rows were not identified")
