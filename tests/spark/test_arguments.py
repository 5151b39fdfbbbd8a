"""All users of a machine see the arguments of its processes: no setting of Spark that may be secret is in one."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

CANARY = "Qx7Zk9vQ"
SECRETS = ("hadoop.fs.s3a.secret.key", "hadoop.fs.azure.sas.fixed", "sql.catalog.hers.credential", "driver.apiToken")
MASTERS = ("local[2]", "local-cluster[1,1,1024]")


def arguments() -> set[str]:
    """Of all processes that there are, but for those of this test."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.add(place.read_text(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("master", MASTERS)
def test_no_secret_is_an_argument(master: str, tmp_path: Path) -> None:
    settings = "&".join(f"spark.{name}={CANARY}{n}" for n, name in enumerate(SECRETS))
    memory = "spark.driver.memory=700m&spark.executor.memory=500m&spark.sql.shuffle.partitions=2"
    query = tmp_path / "facts.csv"
    query.write_text("y,x\n" + "".join(f"{n % 2},{n}\n" for n in range(40)))
    words = [sys.executable, "-m", "sqlsvm", "train", "--query", f"SELECT y, x FROM '{query}'", "--label", "y"]
    asked = [*words, "--model-file", str(tmp_path / "m.json"), "--no-offload"]
    environment = {**os.environ, "SQLSVM_DSN": f"spark:{master}?{memory}&{settings}"}
    with subprocess.Popen(asked, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        seen = set[str]()
        while run.poll() is None:
            seen |= arguments()
            time.sleep(0.05)
        out, err = run.communicate()
    assert run.returncode == 0, err
    java = [line for line in seen if "spark.driver.memory=700m" in line]
    assert java
    assert "local-cluster" not in master or any("CoarseGrainedExecutorBackend" in line for line in seen)
    assert not [line for line in seen if CANARY in line or "authenticate.secret" in line]
    assert CANARY not in out + err + (tmp_path / "m.json").read_text()


LISTENING = """
from pathlib import Path
from sqlsvm.engine import connect
with connect("spark:local[2]?spark.driver.memory=700m") as engine:
    assert engine._session.sparkContext.getConf().get("spark.authenticate") == "true"
    java = engine._session.sparkContext._gateway.proc.pid
    own = {str(each.readlink()) for each in Path(f"/proc/{java}/fd").iterdir() if each.is_symlink()}
    lines = [each for name in ("tcp", "tcp6") for each in Path(f"/proc/{java}/net/{name}").read_text().splitlines()]
    for line in map(str.split, lines):
        if line[3] == "0A" and f"socket:[{line[9]}]" in own:
            print(line[1].rpartition(":")[0])
"""


def test_ports_are_those_of_this_machine() -> None:
    """And Spark asks who connects for a secret."""
    found = subprocess.run([sys.executable, "-c", LISTENING], check=True, capture_output=True, text=True).stdout.split()
    assert set(found) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert found
