"""Folders for temporary files: what a killed process has left goes, and nothing else."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sqlsvm import scratch
from sqlsvm.scratch import private_folder

MAKE = (
    "import sys, time; from sqlsvm.scratch import private_folder; print(private_folder(sys.argv[1])[0], flush=True); "
)

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not say who runs")


def test_a_folder_is_private_and_goes(tmp_path: Path) -> None:
    folder, remove = private_folder(str(tmp_path))
    assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
    (Path(folder) / "file").write_text("x")
    remove()
    assert list(tmp_path.iterdir()) == []
    subprocess.run([sys.executable, "-c", MAKE, tmp_path], check=True, capture_output=True)
    assert list(tmp_path.iterdir()) == []


@needs_proc
def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    with subprocess.Popen([sys.executable, "-c", MAKE + "time.sleep(60)", tmp_path], stdout=subprocess.PIPE) as process:
        assert process.stdout
        left = Path(process.stdout.readline().decode().strip())
        (left / "link").symlink_to(kept)
        (tmp_path / left.name.replace(str(process.pid), "4194999")).symlink_to(kept)
        foreign = tmp_path / f"sqlsvm-4194999-1-{'0' * 12}-other"
        foreign.mkdir()
        (tmp_path / "sqlsvm-mine").mkdir()
        private_folder(str(tmp_path))[1]()
        assert left.exists()
        process.send_signal(signal.SIGKILL)
    private_folder(str(tmp_path))[1]()
    assert not left.exists()
    assert (kept / "file").exists()
    assert foreign.exists()
    assert (tmp_path / "sqlsvm-mine").exists()
    assert (tmp_path / left.name.replace(str(process.pid), "4194999")).is_symlink()


@needs_proc
def test_a_number_that_another_process_has_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process runs, but began at another time."""
    old = tmp_path / f"sqlsvm-1-{(scratch._start(1) or 0) + 1}-{scratch._place()}-old"
    old.mkdir()
    monkeypatch.setattr("os.geteuid", lambda: old.stat().st_uid + 1)
    private_folder(str(tmp_path))[1]()
    assert old.exists()
    monkeypatch.undo()
    private_folder(str(tmp_path))[1]()
    assert not old.exists()
