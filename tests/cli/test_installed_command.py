"""`sqlsvm install`, `upgrade`, `uninstall`, `check` and `extension`, as they are typed."""

import json
import re
from pathlib import Path

from click.testing import CliRunner

from sqlsvm.cli import cli
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.psql.install import install, look, own_version
from sqlsvm.psql.install.extension import extension_script
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
    assert answered.output == f"wrote {script}\nwrote {control}\nin psql: CREATE EXTENSION sqlsvm;\n"
    said = control.read_text(encoding="utf-8")
    assert f"default_version = '{VERSION}'\nschema = sqlsvm\nrelocatable = false\n" in said
    assert "superuser = false\ntrusted = true\n" in said
    assert "CREATE SCHEMA" not in script.read_text(encoding="utf-8")
    assert "cannot write the extension" in complaint("extension", "--dir", tmp_path / "none")


def test_the_distribution_for_pgxn(tmp_path: Path) -> None:
    """The fields that version 1.0.0 of its specification demands, and files that are there."""
    answered = CliRunner().invoke(cli, ["extension", "--dir", str(tmp_path), "--format", "pgxn"])
    assert answered.exit_code == 0
    meta = json.loads((tmp_path / "META.json").read_text(encoding="utf-8"))
    demanded = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}
    assert demanded <= meta.keys()
    assert (meta["version"], meta["license"], meta["meta-spec"]["version"]) == (VERSION, "apache_2_0", "1.0.0")
    assert re.fullmatch(r"\d+\.\d+\.\d+", meta["version"])
    for provided in meta["provides"].values():
        assert provided["version"] == VERSION
        assert (tmp_path / provided["file"]).stat().st_size > 100_000
    assert f"\nDATA = sqlsvm--{VERSION}.sql\n" in (tmp_path / "Makefile").read_text(encoding="utf-8")


def test_the_script_for_pg_tle_quotes_the_extension(postgres: Engine, tmp_path: Path) -> None:
    """PostgreSQL reads its last argument as the script without the line for psql. No server here has pg_tle."""
    answered = CliRunner().invoke(cli, ["extension", "--dir", str(tmp_path), "--format", "pg_tle"])
    script = tmp_path / f"sqlsvm-pg_tle--{VERSION}.sql"
    assert answered.output == f"wrote {script}\nits first lines say what to type\n"
    call = script.read_text(encoding="utf-8").replace("SELECT pgtle.install_extension(", "SELECT * FROM (VALUES (")
    found = postgres.fetch(Text(re.sub(r"\);\n$", ")) AS t(name, version, about, script)", call)))
    assert (found["name"][0], found["version"][0]) == ("sqlsvm", VERSION)
    assert extension_script().split("\n", 1) == [PSQL_ONLY, found["script"][0]]


PSQL_ONLY = '\\echo Use "CREATE EXTENSION sqlsvm" to load this file. \\quit'


def test_only_postgres() -> None:
    assert "which are for PostgreSQL\nHINT: --dsn postgresql://" in complaint("install", "--dsn", "duckdb:")
    assert "--dsn is missing" in complaint("install", code=2)
