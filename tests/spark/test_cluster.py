"""Executors in processes of their own: a command, as it needs a process with another Spark."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

CLUSTER = (
    "spark:local-cluster[2,1,1024]?spark.driver.memory=1g&spark.executor.memory=512m&spark.sql.shuffle.partitions=2"
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


def command(*arguments: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "sqlsvm", "train", "--label", "y", *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_cluster_needs_a_folder(query: str, tmp_path: Path) -> None:
    """And with one it trains, and leaves nothing in it."""
    place = ("--dsn", CLUSTER, "--query", query, "--model-file", str(tmp_path / "m.json"))
    said = command(*place)
    assert "needs a folder for working tables" in said.communicate()[1]
    work = tmp_path / "work"
    work.mkdir()
    trained = command(*place, "--work-folder", str(work))
    out, err = trained.communicate()
    assert trained.returncode == 0, err
    assert "converged" in out
    assert list(work.iterdir()) == []
