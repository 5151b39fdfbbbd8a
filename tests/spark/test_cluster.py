"""Executors in processes of their own, and Spark Connect: commands, as each needs a process with another Spark."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from tests.docs.markdown import ROOT, blocks, section
from tests.docs.sessions import typed

CLUSTER = (
    "spark:local-cluster[2,1,2048]?spark.driver.memory=1g&spark.executor.memory=512m&spark.sql.shuffle.partitions=2"
)


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder, rng = tmp_path_factory.mktemp("cluster"), np.random.default_rng(0)
    x = rng.normal(size=500)
    pq.write_table(
        pa.table({"x": x, "y": x + rng.normal(size=500) > 0, "k": rng.integers(0, 9, 500)}), folder / "f.parquet"
    )
    pq.write_table(pa.table({"k": np.arange(9), "z": rng.normal(size=9)}), folder / "d.parquet")
    return f"SELECT f.y, f.x, d.z FROM '{folder}/f.parquet' AS f JOIN '{folder}/d.parquet' AS d ON d.k = f.k"


def two_bags(query: str) -> str:
    """With tables that several statements read, which are stored."""
    facts = query.split("'")[1]
    return f"SELECT f.y, f.x, g.x AS u FROM '{facts}' AS f JOIN '{facts}' AS g ON g.k = f.k"


def command(*arguments: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "sqlsvm", "train", "--no-offload", "--label", "y", *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_cluster_needs_a_folder(query: str, tmp_path: Path) -> None:
    """Unless the join is small enough to be read. And with one it trains, and leaves nothing in it."""
    place = ("--dsn", CLUSTER, "--query", two_bags(query), "--sample", "100", "--model-file", str(tmp_path / "m.json"))
    said = command(*place)
    assert "needs a folder for working tables" in said.communicate()[1]
    work = tmp_path / "work"
    work.mkdir()
    trained = command(*place, "--work-folder", str(work))
    out, err = trained.communicate()
    assert trained.returncode == 0, err
    assert "converged" in out
    assert list(work.iterdir()) == []


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("localhost", port)) == 0


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home, port = os.path.dirname(pyspark.__file__), free_port()
    words = [f"{home}/bin/spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    words += ["--master", "local[2]", "--driver-memory", "1g", "--conf", f"spark.connect.grpc.binding.port={port}"]
    words += ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2", "spark-internal"]
    place = tmp_path_factory.mktemp("server")  # of its catalog
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place)
    try:
        while not listens(port):
            assert started.poll() is None
            time.sleep(0.5)
        yield f"spark:sc://localhost:{port}"
    finally:
        started.terminate()
        started.wait()


def test_spark_connect(query: str, server: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    place = ("--dsn", server, "--query", query, "--work-folder", str(work), "--model-file", str(tmp_path / "m.json"))
    trained = command(*place)
    out, err = trained.communicate()
    assert trained.returncode == 0, err
    assert "converged" in out
    assert "Warning" not in err
    assert list(work.iterdir()) == []


def test_the_example_of_the_page(query: str, server: str, tmp_path: Path) -> None:
    example = next(blocks(section((ROOT / "docs" / "on-a-cluster.md").read_text(encoding="utf-8"), "Connect"), "sh"))
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "features.sql").write_text(query.replace("f.y", "f.y AS late"), encoding="utf-8")
    lines = example.text.replace("spark:sc://gateway:15002", server).replace("hdfs:///tmp/sqlsvm", str(work))
    assert server in lines
    assert str(work) in lines
    done = typed(tmp_path, ["bash", "-ec", lines])
    assert done.returncode == 0, done.stdout
    assert "converged" in done.stdout
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("connect", [False, True])
def test_ctrl_c(query: str, connect: bool, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """While there are working tables."""
    dsn = request.getfixturevalue("server") if connect else "spark:local[2]?spark.sql.shuffle.partitions=2"
    place = ("--dsn", dsn, "--query", two_bags(query), "--in-memory", "0", "--model-file", str(tmp_path / "m.json"))
    work = tmp_path / "work"
    work.mkdir()
    trained = command(*place, "--work-folder", str(work))
    while not list(work.glob("sqlsvm_work_*/*/_SUCCESS")):
        assert trained.poll() is None
        time.sleep(0.05)
    trained.send_signal(signal.SIGINT)
    _, err = trained.communicate(timeout=60)
    assert trained.returncode == 130
    assert "interrupted" in err
    assert not any(word in err for word in ("Traceback", "Exception", "ERROR"))
    assert list(work.iterdir()) == []
