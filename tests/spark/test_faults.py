"""A standalone cluster, of which executors, shuffle files and the work folder get lost."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.faults.cluster import small_disk
from tests.spark.test_cluster import free_port, listens, query, two_bags

__all__ = ["query"]  # the fixture
ROOT = not os.geteuid() and not subprocess.run(["unshare", "--mount", "true"], check=False).returncode
SPARK = os.path.dirname(pyspark.__file__)
SETTINGS = (
    "spark.driver.memory=1g&spark.executor.memory=450m&spark.executor.cores=1&spark.cores.max=2&spark.ui.enabled=false"
    "&spark.driver.host=127.0.0.1&spark.driver.bindAddress=127.0.0.1&spark.sql.shuffle.partitions=2"
)


@dataclass(frozen=True)
class Standalone:
    url: str
    worker: int
    shuffled: Path
    work: Path
    """If root runs the tests, a small disk."""
    hidden: Path
    """If so, a folder that is another one for the worker and its executors."""


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    folder, port = tmp_path_factory.mktemp("standalone"), free_port()
    shuffled, hidden, plain = (folder / name for name in ("shuffled", "hidden", "plain"))
    for place in (shuffled, hidden, plain):
        place.mkdir()
    master, here = f"spark://127.0.0.1:{port}", ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as stack:
        work = stack.enter_context(small_disk(2)) if ROOT else plain
        first = start("master.Master", *here, "--port", str(port))
        stack.callback(end, first)
        while not listens(port):
            assert first.poll() is None
            time.sleep(0.2)
        words = [*here, "--cores", "2", "--memory", "1g", "--work-dir", str(folder / "logs"), master]
        worker = start("worker.Worker", *words, shuffled=shuffled, hidden=hidden)
        stack.callback(end, worker)
        yield Standalone(f"spark:{master}?{SETTINGS}", worker.pid, shuffled, work, hidden)


def start(name: str, *words: str, shuffled: Path | None = None, hidden: Path | None = None) -> subprocess.Popen[bytes]:
    command = [f"{SPARK}/bin/spark-class", f"org.apache.spark.deploy.{name}", *words]
    if hidden and ROOT:
        command = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs "{hidden}" && exec "$@"', "sh", *command]
    own = {"SPARK_DAEMON_MEMORY": "256m"} | ({"SPARK_LOCAL_DIRS": str(shuffled)} if shuffled else {})
    return subprocess.Popen(command, env=os.environ | own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


@pytest.fixture(scope="module")
def said(standalone: Standalone, query: str) -> Mapping[str, Any]:
    places = [standalone.work, standalone.shuffled, standalone.hidden if ROOT else "", standalone.worker]
    words = [sys.executable, "-m", "tests.spark.struck", standalone.url, two_bags(query), *map(str, places)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert list(standalone.work.iterdir()) == []
    return {line["name"]: line for line in map(json.loads, ran.stdout.splitlines())}


@pytest.mark.parametrize("name", ["an executor is killed", "a shuffle file is lost", "afterwards"])
def test_what_is_lost_is_computed_again(said: Mapping[str, Any], name: str) -> None:
    before, found = said["undisturbed"], said[name]
    assert before["passes"] > 1
    assert found["converged"]
    assert found["objective"] == pytest.approx(before["objective"], rel=1e-3)
    assert found["lower_bound"] <= before["objective_upper"] * (1 + 1e-9)
    assert before["lower_bound"] <= found["objective_upper"] * (1 + 1e-9)


def test_a_shuffle_file_was_lost(said: Mapping[str, Any]) -> None:
    assert said["lost"]["files"] >= 1


@pytest.mark.skipif(not ROOT, reason="only root can mount a small disk")
def test_a_full_work_folder(said: Mapping[str, Any]) -> None:
    found = said["the work folder is full"]
    assert found["error"] == "there is no space left for working tables"
    assert "--work-folder" in found["hint"]


@pytest.mark.skipif(not ROOT, reason="only root can hide a folder")
def test_executors_must_see_the_work_folder(said: Mapping[str, Any]) -> None:
    assert "the executors do not see the work folder" in said["the work folder is hidden"]["error"]
