"""Files in a folder that other users can write to too."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlsvm.files import replacing, text_left_in
from tests.waiting import MINUTE

STRANGER = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def write(path: Path, text: str = "ours") -> None:
    with replacing(path) as out:
        out.write(text)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def planted_link(place: Path, target: Path) -> None:
    place.symlink_to(target)
    os.lchown(place, STRANGER, STRANGER)


def test_a_file_is_private_and_has_another_name_each_time_until_it_is_complete(shared: Path) -> None:
    seen = set()
    for _ in range(2):
        with replacing(shared / "m.json") as out:
            out.write("half")
            out.flush()
            (temporary,) = (path for path in shared.iterdir() if path.name != "m.json")
            assert mode(temporary) == 0o600
            assert str(os.getpid()) not in temporary.name
            seen.add(temporary.name)
    assert len(seen) == 2
    assert [path.name for path in shared.iterdir()] == ["m.json"]


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_a_new_file_has_the_mode_of_the_umask(shared: Path, umask: int) -> None:
    os.umask(umask)
    write(shared / "m.json")
    assert mode(shared / "m.json") == 0o666 & ~umask
    assert os.umask(umask) == umask


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664, 0o400])
def test_a_file_that_is_replaced_keeps_its_mode(shared: Path, kept: int) -> None:
    path = shared / "m.json"
    path.write_text("before")
    path.chmod(kept)
    write(path)
    assert mode(path) == kept
    assert path.read_text() == "ours"


@as_root
def test_a_file_of_the_owner_of_the_folder_keeps_its_owner(shared: Path) -> None:
    path = shared / "m.json"
    path.write_text("before")
    path.chmod(0o640)
    for owned in (shared, path):
        os.chown(owned, STRANGER, STRANGER + 1)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (STRANGER, STRANGER + 1, 0o640)


@as_root
def test_a_file_that_a_stranger_left_gives_the_stranger_no_rights(shared: Path) -> None:
    path = shared / "m.json"
    path.write_text("before")
    os.chown(path, STRANGER, STRANGER)
    path.chmod(0o666)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (0, os.getegid(), 0o644)


@as_root
def test_a_link_that_a_stranger_left_is_replaced_and_not_written_through(shared: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    planted_link(shared / "m.json", victim)
    write(shared / "m.json")
    assert victim.read_text() == "precious"
    assert not (shared / "m.json").is_symlink()
    assert (shared / "m.json").read_text() == "ours"


@as_root
def test_a_link_of_ours_to_a_link_of_a_stranger_goes_no_further(shared: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    planted_link(shared / "m.json", victim)
    (tmp_path / "latest.json").symlink_to(shared / "m.json")
    write(tmp_path / "latest.json")
    assert victim.read_text() == "precious"
    assert (tmp_path / "latest.json").is_symlink()
    assert (tmp_path / "latest.json").read_text() == "ours"


def test_a_link_of_ours_is_followed(tmp_path: Path) -> None:
    """As /dev/stderr must be, which is a link to a file if the shell says 2>errors.txt."""
    (tmp_path / "data").mkdir()
    (tmp_path / "m.json").symlink_to("data/m.json")
    for text in ("first", "second"):
        write(tmp_path / "m.json", text)
        assert (tmp_path / "m.json").is_symlink()
        assert (tmp_path / "data" / "m.json").read_text() == text


def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "m.json").symlink_to("m.json")
    write(tmp_path / "m.json")
    assert (tmp_path / "m.json").read_text() == "ours"


@pytest.mark.parametrize("name", ["fd", "fifo"])
def test_a_pipe_of_ours_is_written_itself(tmp_path: Path, name: str) -> None:
    if name == "fd":
        reading, writing = os.pipe()
        path = Path(f"/dev/fd/{writing}")
    else:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        writing = os.open(path, os.O_WRONLY)
    write(path)
    os.close(writing)
    assert os.read(reading, 100) == b"ours"
    os.close(reading)


@as_root
def test_a_pipe_that_a_stranger_left_gets_nothing(shared: Path) -> None:
    path = shared / "m.json"
    os.mkfifo(path)
    os.chown(path, STRANGER, STRANGER)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write(path)
    assert os.read(reading, 100) == b""
    os.close(reading)
    assert path.read_text() == "ours"


@pytest.mark.parametrize("ends", [RuntimeError, KeyboardInterrupt, OSError])
def test_nothing_is_left_after_an_error(shared: Path, ends: type[BaseException]) -> None:
    (shared / "m.json").write_text("before")
    with pytest.raises(ends), replacing(shared / "m.json") as out:  # noqa: PT012
        out.write("half")
        raise ends
    assert [path.name for path in shared.iterdir()] == ["m.json"]
    assert (shared / "m.json").read_text() == "before"


@pytest.mark.parametrize("target", ["no/such/folder/m.json", "folder"])
def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path, target: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=target) as caught:
        write(tmp_path / target)
    assert str(caught.value).endswith(f"'{tmp_path / target}'")
    assert ".sqlsvm-" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@as_root
def test_what_a_stranger_left_under_a_known_name_is_not_read(shared: Path, tmp_path: Path) -> None:
    secret, state = tmp_path / "secret", shared / "m.json.state"
    secret.write_text("precious")
    planted_link(state, secret)
    with pytest.raises(OSError, match=r"m\.json\.state"):
        text_left_in(state)
    state.unlink()
    state.write_text("planted")
    os.chown(state, STRANGER, STRANGER)
    with pytest.raises(PermissionError, match=f"user {STRANGER} owns"):
        text_left_in(state)
    os.chown(shared, STRANGER, STRANGER)
    assert text_left_in(state) == "planted", "the owner of the folder can replace every file in it"


def test_reading_does_not_wait_for_a_pipe(shared: Path) -> None:
    os.mkfifo(shared / "m.json.state")
    found: list[BaseException] = []

    def read() -> None:
        try:
            text_left_in(shared / "m.json.state")
        except PermissionError as error:
            found.append(error)

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(MINUTE)
    assert "not a regular file" in str(found[0])
