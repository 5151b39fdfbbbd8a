"""`sqlsvm install`, `upgrade`, `uninstall`, `check` and `extension`, as they are typed."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from sqlsvm.cli import cli
from sqlsvm.engine import connect
from sqlsvm.psql.install import install, look, own_version
from sqlsvm.store import open_store
from tests.cli.command import answer as said
from tests.cli.command import complaint, sqlsvm
from tests.ground.models import model
from tests.psql import answer
from tests.typed import typed

VERSION = own_version()
OLDER = "CREATE OR REPLACE FUNCTION sqlsvm.version() RETURNS text LANGUAGE sql AS $$SELECT '0.0.9'$$"


def test_from_install_to_uninstall(postgres_dsn: str) -> None:
    first = said("install", "--dsn", postgres_dsn).splitlines()
    assert first[0].startswith(f"sqlsvm {VERSION} is installed in the schema sqlsvm of postgresql://")
    assert first[-1] == "try it in psql: SELECT * FROM sqlsvm.models();"
    assert answer(postgres_dsn, "SELECT sqlsvm.version();") == [VERSION]
    with connect(postgres_dsn) as engine:
        open_store(engine).save(model("two\nlines"))
    assert "1 model would be lost: two\nlines" in complaint("uninstall", "--dsn", postgres_dsn)
    gone = said("uninstall", "--dsn", postgres_dsn, "--force")
    assert re.fullmatch(r"removed \d+ functions, 7 tables, and the schema sqlsvm\nwith the models two\\nlines\n", gone)


def test_upgrade_says_from_what_to_what(postgres_dsn: str) -> None:
    with connect(postgres_dsn) as engine:
        install(engine)
        typed(engine, OLDER)
    assert said("upgrade", "--dsn", postgres_dsn) == f"sqlsvm 0.0.9 is now {VERSION}\n"


def test_a_role_that_is_not_there(postgres_dsn: str) -> None:
    """Nothing is installed then."""
    found = complaint("install", "--dsn", postgres_dsn, "--reader", "no role of that name")
    assert 'role "no role of that name" does not exist\nHINT: a superuser makes one' in found
    assert "HINT: did you mean postgres?" in complaint("install", "--dsn", postgres_dsn, "--trainer", "postgers")
    with connect(postgres_dsn) as engine:
        assert look(engine).version is None


def test_check_is_a_table_and_an_exit_code(postgres_dsn: str) -> None:
    lines = said("check", "--dsn", postgres_dsn).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["ok"] * (len(lines) - 1)
    with connect(postgres_dsn) as engine:
        install(engine)
        typed(engine, "DROP FUNCTION sqlsvm.models()")
    done = sqlsvm("check", "--dsn", postgres_dsn)
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^FAILED +functions +missing: models; sqlsvm install puts them back$", done.stdout, re.MULTILINE)


def test_the_extension_is_written(tmp_path: Path) -> None:
    answered = CliRunner().invoke(cli, ["extension", "--dir", str(tmp_path)])
    control, script = tmp_path / "sqlsvm.control", tmp_path / f"sqlsvm--{VERSION}.sql"
    assert answered.output == f"wrote {control}\nwrote {script}\nin psql: CREATE EXTENSION sqlsvm;\n"
    said = control.read_text(encoding="utf-8")
    assert f"default_version = '{VERSION}'\nschema = sqlsvm\nrelocatable = false\n" in said
    assert "superuser = false\ntrusted = true\n" in said
    assert "CREATE SCHEMA" not in script.read_text(encoding="utf-8")
    assert "cannot write the extension" in complaint("extension", "--dir", tmp_path / "none")


def test_only_postgres() -> None:
    assert "which are for PostgreSQL\nHINT: --dsn postgresql://" in complaint("install", "--dsn", "duckdb:")
    assert "--dsn is missing" in complaint("install", code=2)


@pytest.mark.parametrize("verb", ["install", "upgrade", "uninstall", "check", "extension"])
def test_help_has_an_example(verb: str) -> None:
    answered = CliRunner().invoke(cli, [verb, "--help"])
    assert f"Example:\n    sqlsvm {verb}" in answered.output
