"""An embedded PostgreSQL on a machine with other users: what they prepare is refused, and they cannot connect."""

import os
import pwd
import socket
import stat
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlglot import parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.embedded import Embedded, Server
from sqlsvm.errors import EngineError
from tests.servers import fast_directory

STRANGER = 12345
pytestmark = pytest.mark.usefixtures("in_memory")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can play another user")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", fast_directory())
        patch.setenv("SECRET_OF_ROOT", "precious")
        server = Server()
    yield server
    server.stop()


def nobody() -> int:
    return pwd.getpwnam("nobody").pw_uid


def refusal(home: Path) -> str:
    with pytest.raises(EngineError) as caught:
        connect(f"embedded:{home}")
    return str(caught.value)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def said_as(uid: int, work: Callable[[], object]) -> str:
    """What a process of that user gets."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            said = str(work())
        except Exception as error:
            said = f"refused: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as answer:
        return answer.read()


def superuser(dsn: str) -> object:
    with psycopg.connect(dsn, connect_timeout=60) as connection:
        (found,) = connection.execute("SELECT current_setting('is_superuser')").fetchone() or ()
    return found


# -- the server --------------------------------------------------------------------------------------------------------


@as_root
@pytest.mark.parametrize("uid", [nobody(), STRANGER])
def test_no_other_user_is_let_in(server: Server, uid: int) -> None:
    """Root's server runs as `nobody`, and so do other programs."""
    assert superuser(server.dsn) == "on"
    dsn = make_conninfo(server.dsn, requirepeer="")
    assert said_as(uid, lambda: superuser(dsn)).startswith("refused: ")


@as_root
def test_authentication_does_not_rest_on_the_folder_alone(server: Server) -> None:
    folder = Path(str(conninfo_to_dict(server.dsn)["host"]))
    assert (folder.stat().st_uid, mode(folder)) == (0, 0o700)
    folder.chmod(0o711)
    try:
        said = said_as(nobody(), lambda: superuser(server.dsn))
    finally:
        folder.chmod(0o700)
    assert 'Peer authentication failed for user "postgres"' in said


@as_root
def test_the_server_owns_nothing_but_its_data(server: Server) -> None:
    scratch = Path(str(conninfo_to_dict(server.dsn)["host"])).parent
    owners = {path.name: path.stat().st_uid for path in (scratch, *scratch.iterdir()) if path.name != "data"}
    assert set(owners.values()) == {0}
    assert (scratch / "data").stat().st_uid == nobody()
    assert mode(scratch) == 0o711
    assert mode(scratch / "server.log") == 0o600


@as_root
def test_the_server_does_not_carry_the_environment_of_root(server: Server) -> None:
    """Programs of its account can read it."""
    with psycopg.connect(server.dsn) as connection:
        connection.execute("CREATE TEMPORARY TABLE env (line TEXT)")
        connection.execute("COPY env FROM PROGRAM 'env'")
        names = {line.partition("=")[0] for (line,) in connection.execute("SELECT line FROM env").fetchall()}
    assert "PATH" in names
    assert "SECRET_OF_ROOT" not in names


def test_a_false_server_is_not_believed(server: Server, tmp_path: Path) -> None:
    """libpq asks the system which user answers at the socket."""
    wanted = conninfo_to_dict(server.dsn)["requirepeer"]
    user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    assert wanted == user
    with socket.socket(socket.AF_UNIX) as false:
        false.bind(str(tmp_path / ".s.PGSQL.5432"))
        false.listen()
        other = "daemon" if os.geteuid() else user
        with pytest.raises(psycopg.OperationalError, match=f'requirepeer specifies "{other}"'):
            psycopg.connect(make_conninfo(server.dsn, host=str(tmp_path), requirepeer=other))


# -- the folder --------------------------------------------------------------------------------------------------------


@as_root
@pytest.mark.parametrize("owner", [nobody(), STRANGER])
def test_the_folder_of_another_user_is_refused(home: Path, owner: int) -> None:
    home.mkdir()
    os.chown(home, owner, owner)
    assert f"{home} belongs to the user " in refusal(home)
    assert list(home.iterdir()) == []


@as_root
def test_a_server_that_another_user_has_prepared_is_refused(home: Path) -> None:
    """It would be started with the settings of that user, or its false socket would be used."""
    connect(f"embedded:{home}").close()
    for path in (home, home / "lock", home / "data"):
        os.chown(path, STRANGER, STRANGER)
    assert f"{home} belongs to the user {STRANGER}" in refusal(home)
    os.chown(home, 0, 0)
    os.chown(home / "lock", 0, 0)
    assert f"{home}/data belongs to the user {STRANGER}" in refusal(home)


@pytest.mark.parametrize("shared", [0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(home: Path, shared: int) -> None:
    home.mkdir()
    home.chmod(shared)
    said = refusal(home)
    assert f"other users can write to {home}" in said
    assert f"HINT: type: chmod go-w {home};" in said
    assert list(home.iterdir()) == []


def test_a_folder_below_one_that_others_can_write_to_is_refused(home: Path) -> None:
    home.mkdir()
    home.chmod(0o777)
    assert f"other users can write to {home}" in refusal(home / "deeper" / "shop")
    assert list(home.iterdir()) == []


def test_a_sticky_folder_above_is_safe(home: Path) -> None:
    """As /tmp is: another user cannot rename what is in it."""
    home.mkdir()
    home.chmod(0o1777)
    connect(f"embedded:{home / 'shop'}").close()
    assert mode(home / "shop") == (0o711 if os.geteuid() == 0 else 0o700)


@as_root
def test_a_folder_below_that_of_another_user_is_refused(home: Path) -> None:
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    assert f"{home} belongs to the user {STRANGER}" in refusal(home / "shop")
    assert list(home.iterdir()) == []


@as_root
def test_a_group_that_can_write(home: Path) -> None:
    """The group of root has only root in it. Other systems give every user such a group."""
    home.mkdir()
    home.chmod(0o775)
    connect(f"embedded:{home / 'shop'}").close()
    os.chown(home, 0, STRANGER)
    home.chmod(0o775)
    assert f"other users can write to {home}" in refusal(home / "shop")


def test_an_access_list(home: Path) -> None:
    """It lets another user write, and shows that in the bits of the group only."""
    home.mkdir(mode=0o700)
    (home / "lock").touch(mode=0o600)
    everyone = 0xFFFFFFFF
    entries = [(0x01, 7, everyone), (0x02, 7, 12345), (0x04, 5, everyone), (0x10, 7, everyone), (0x20, 5, everyone)]
    access_list = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(home, "system.posix_acl_access", access_list)
    except (OSError, AttributeError):
        pytest.skip("this file system has no access lists")
    assert f"other users can write to {home}" in refusal(home)


@as_root
def test_a_link_of_another_user_is_not_followed(home: Path) -> None:
    home.mkdir()
    home.chmod(0o1777)
    (home / "shop").symlink_to("/var/tmp")
    os.lchown(home / "shop", STRANGER, STRANGER)
    assert f"{home}/shop belongs to the user {STRANGER}" in refusal(home / "shop")
    os.lchown(home / "shop", 0, 0)
    (home / "real").mkdir()
    (home / "shop").unlink()
    (home / "shop").symlink_to("real")
    connect(f"embedded:{home / 'shop'}").close()
    assert (home / "real" / "data").is_dir()


@pytest.mark.parametrize("name", ["lock", "server.log"])
@pytest.mark.parametrize("planted", ["link", "hard link", "pipe"])
def test_what_was_planted_for_the_lock_and_the_log_is_not_written(home: Path, name: str, planted: str) -> None:
    home.mkdir()
    (home / "lock").touch()
    (home / name).unlink(missing_ok=True)
    victim = home.parent / "victim"
    victim.write_text("precious")
    victim.chmod(0o644)
    if planted == "link":
        (home / name).symlink_to(victim)
    elif planted == "hard link":
        (home / name).hardlink_to(victim)
    else:
        os.mkfifo(home / name)
    assert f"{home / name} is not a file that sqlsvm has made" in refusal(home)
    assert (victim.read_text(), mode(victim)) == ("precious", 0o644)


def test_a_link_in_place_of_the_data_is_refused(home: Path) -> None:
    home.mkdir()
    (home / "lock").touch()
    (home / "data").symlink_to(home.parent)
    assert f"{home / 'data'} is not a file that sqlsvm has made" in refusal(home)


@as_root
def test_a_link_among_the_data_is_not_read(home: Path) -> None:
    """Other programs of `nobody` can write there."""
    connect(f"embedded:{home}").close()
    secret = home.parent / "secret"
    secret.write_text("precious")
    (home / "data" / "PG_VERSION").unlink()
    (home / "data" / "PG_VERSION").symlink_to(secret)
    assert "precious" not in refusal(home)


def test_a_guest_does_not_ask_the_data_where_the_server_is(home: Path) -> None:
    with connect(f"embedded:{home}") as owner:
        assert isinstance(owner, Embedded)
        pid_file = home / "data" / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
        lines[4] = "/false"
        pid_file.write_text("\n".join(lines) + "\n")
        with connect(f"embedded:{home}") as guest:
            assert isinstance(guest, Embedded)
            assert guest.server.dsn == owner.server.dsn


def test_the_log_is_private(home: Path) -> None:
    """It holds the text of statements that failed."""
    with connect(f"embedded:{home}") as engine, pytest.raises(EngineError):
        engine.execute(parse_one("SELECT 'precious' FROM nowhere", read="postgres"))
    assert "precious" in (home / "server.log").read_text()
    assert mode(home / "server.log") == mode(home / "lock") == 0o600


def test_a_folder_of_an_older_version_becomes_safe(home: Path) -> None:
    with connect(f"embedded:{home}") as engine:
        engine.execute(parse_one("CREATE TABLE public.kept AS SELECT 42 AS x", read="postgres"))
    (home / "data" / "pg_hba.conf").write_text("local all all trust\n")
    for name in ("lock", "server.log"):
        (home / name).chmod(0o644)
    (home / "lock").write_text("")
    home.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(home, nobody(), -1)
    with connect(f"embedded:{home}") as engine:
        assert isinstance(engine, Embedded)
        assert engine.fetch(parse_one("SELECT x FROM public.kept", read="postgres"))["x"].tolist() == [42]
        rules = "SELECT DISTINCT auth_method AS x FROM pg_hba_file_rules"
        assert engine.fetch(parse_one(rules, read="postgres"))["x"].tolist() == ["peer"]
    assert home.stat().st_uid == os.geteuid()
    assert mode(home / "server.log") == mode(home / "lock") == 0o600
