"""What `install`, `upgrade` and `uninstall` leave in a database, whatever was there before.

`SQLSVM_UPDATE_GOLDEN=1 pytest tests/db/test_install.py` writes golden/installed.txt anew: read the difference.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from sqlglot import exp, parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import EngineError, OptionError, SqlsvmError
from sqlsvm.install import FORMS, install, look, own_version, uninstall, upgrade
from sqlsvm.install.found import function_names, table_names
from sqlsvm.store import open_store
from sqlsvm.store.database import SCHEMA_VERSION
from sqlsvm.store.templates import folder, template
from tests.ground.models import model
from tests.listing import listing
from tests.psql import answer, psql

GOLDEN = Path(__file__).parents[1] / "golden"
INSTALLED = GOLDEN / "installed.txt"


def value(engine: Engine, text: str) -> object:
    (column,) = engine.fetch(parse_one(text, read="postgres")).values()
    return column.tolist()[0]


def state(engine: Engine) -> str:
    """All that is installed, and every row of the tables that are never changed by training."""
    rows = engine.fetch(Text("SELECT string_agg(version::text, ',' ORDER BY version) AS v FROM sqlsvm.schema_version"))
    return listing(engine) + str(rows["v"][0])


# -- what there is -----------------------------------------------------------------------------------------------------


def test_the_listing(postgres: Engine) -> None:
    install(postgres)
    found = listing(postgres)
    if "SQLSVM_UPDATE_GOLDEN" in os.environ:
        INSTALLED.write_text(found, encoding="utf-8")
    assert found == INSTALLED.read_text(encoding="utf-8")


def test_every_object_says_what_it_is() -> None:
    lines = INSTALLED.read_text(encoding="utf-8").splitlines()
    heads, facts, comments = lines[::3], lines[1::3], lines[2::3]
    assert [c for c in comments if "NO COMMENT" in c] == []
    assert [f for f in facts if "security definer" in f] == []
    public = [f for h, f in zip(heads, facts, strict=True) if " -> " in h and not h.startswith(("_", "version("))]
    assert [f for f in public if "search_path=pg_catalog, pg_temp" not in f] == []


def test_the_files_are_the_objects(postgres: Engine) -> None:
    install(postgres)
    names = "SELECT proname AS n FROM pg_catalog.pg_proc WHERE pronamespace = TO_REGNAMESPACE('sqlsvm')"
    assert set(postgres.fetch(parse_one(names, read="postgres"))["n"]) == set(function_names())
    tables = "SELECT tablename AS n FROM pg_catalog.pg_tables WHERE schemaname = 'sqlsvm'"
    assert set(postgres.fetch(parse_one(tables, read="postgres"))["n"]) == set(table_names())
    assert value(postgres, "SELECT MAX(version) AS v FROM sqlsvm.schema_version") == SCHEMA_VERSION
    assert max(FORMS, default=1) == SCHEMA_VERSION
    assert f"known_form CONSTANT integer := {SCHEMA_VERSION};" in template("internal/_require")


def test_the_readme_names_every_file() -> None:
    text = (folder() / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in folder().glob("*.sql") if f"| `{path.name}` |" not in text] == []
    functions = [path.stem for path in (folder() / "functions").glob("*.sql")]
    assert [name for name in functions if f"| `{name}(" not in text] == []


def test_the_version_is_the_projects(postgres: Engine) -> None:
    install(postgres)
    assert value(postgres, "SELECT sqlsvm.VERSION() AS v") == own_version()
    project = (folder().parent / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{own_version()}"' in project


# -- install -----------------------------------------------------------------------------------------------------------


def test_twice_is_once(postgres: Engine) -> None:
    assert install(postgres).version is None
    once = state(postgres)
    assert install(postgres).version == own_version()
    assert state(postgres) == once


def test_where_the_driver_has_stored_models(postgres: Engine, postgres_dsn: str) -> None:
    store = open_store(postgres)
    store.save(model())
    assert look(postgres).form == 1
    install(postgres)
    assert store.load("late").version == 1
    assert store.save(model()) == 2
    assert answer(postgres_dsn, "SELECT version FROM sqlsvm.models();") == ["2", "1"]


def test_all_or_nothing(postgres: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last file is refused: what the others made is gone with it."""
    broken = "sqlsvm.install.put.function_templates"
    monkeypatch.setattr(broken, lambda: ("functions/version", "extension_begin"))
    with pytest.raises(EngineError, match="syntax error"):
        install(postgres)
    assert (look(postgres).version, look(postgres).form) == (None, 0)
    assert value(postgres, "SELECT COUNT(*) AS n FROM pg_catalog.pg_namespace WHERE nspname = 'sqlsvm'") == 0


def test_installers_at_the_same_time(postgres_dsn: str) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with connect(postgres_dsn) as engine:
                install(engine)
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with connect(postgres_dsn) as engine:
        assert listing(engine) == INSTALLED.read_text(encoding="utf-8")


def test_only_postgres_holds_functions(duckdb: Engine) -> None:
    for call in (install, upgrade, uninstall, look):
        with pytest.raises(OptionError, match="which are for PostgreSQL"):
            call(duckdb)


# -- upgrade -----------------------------------------------------------------------------------------------------------


def older(engine: Engine, version: str = "0.0.9") -> None:
    body = f"SELECT '{version}'::text"
    engine.execute(Text(f"CREATE OR REPLACE FUNCTION sqlsvm.version() RETURNS text LANGUAGE sql AS $${body}$$"))


def test_from_the_first_form_of_the_store(postgres: Engine, postgres_dsn: str) -> None:
    """golden/store_form_1.sql is a store as pg_dump found it: its models still load, and predict in SQL too."""
    said = psql(postgres_dsn, (GOLDEN / "store_form_1.sql").read_text(encoding="utf-8"))
    assert said.code == 0, said.err
    older(postgres)
    before = answer(postgres_dsn, "SELECT name, version, created_at, body FROM sqlsvm.versions ORDER BY 1, 2;")
    assert (look(postgres).version, look(postgres).form) == ("0.0.9", 1)
    with pytest.raises(OptionError, match=r"0\.0\.9 is installed\nHINT: sqlsvm upgrade brings it to"):
        install(postgres)
    assert upgrade(postgres).version == "0.0.9"
    found = look(postgres)
    assert (found.version, found.form) == (own_version(), SCHEMA_VERSION)
    assert listing(postgres) == INSTALLED.read_text(encoding="utf-8")
    assert answer(postgres_dsn, "SELECT name, version, created_at, body FROM sqlsvm.versions ORDER BY 1, 2;") == before
    store = open_store(postgres)
    assert [(s.name, s.version) for s in store.models()] == [("late", 2), ("late", 1)]
    assert store.load("late").intercept == -0.1
    features = '{"distance": 1, "heavy": 0, "carrier": "UA", "month": 7}'
    assert answer(postgres_dsn, f"SELECT sqlsvm.decision_function('late', '{features}');") == ["-1.799"]


def test_upgrade_does_nothing_twice(postgres: Engine) -> None:
    install(postgres)
    once = state(postgres)
    assert upgrade(postgres).version == own_version()
    assert state(postgres) == once


def test_upgrade_needs_something(postgres: Engine) -> None:
    open_store(postgres).save(model())
    with pytest.raises(OptionError, match="not installed here\nHINT: sqlsvm install"):
        upgrade(postgres)


def test_a_newer_sqlsvm_is_left_alone(postgres: Engine) -> None:
    install(postgres)
    older(postgres, "99.0")
    for call in (install, upgrade):
        with pytest.raises(OptionError, match=r"99\.0 is installed, which is newer .*\nHINT: pip install --upgrade"):
            call(postgres)
    assert look(postgres).version == "99.0"


# -- uninstall ---------------------------------------------------------------------------------------------------------


def test_nothing_is_left(postgres: Engine) -> None:
    install(postgres)
    gone = uninstall(postgres)
    assert (gone.functions, gone.tables, gone.models, gone.schema) == (
        len(function_names()),
        len(table_names()),
        (),
        True,
    )
    assert value(postgres, "SELECT COUNT(*) AS n FROM pg_catalog.pg_namespace WHERE nspname = 'sqlsvm'") == 0
    with pytest.raises(OptionError, match="nothing of sqlsvm"):
        uninstall(postgres)


def test_models_are_kept_unless_by_force(postgres: Engine) -> None:
    install(postgres)
    store = open_store(postgres)
    for name in ("late", 'Quote"d'):
        store.save(model(name))
    before = state(postgres)
    with pytest.raises(OptionError, match=r'2 models would be lost: Quote"d, late\nDETAIL: .*\nHINT: --force'):
        uninstall(postgres)
    assert state(postgres) == before
    assert uninstall(postgres, force=True).models == ('Quote"d', "late")
    assert store.models() == ()


OTHERS = {
    "VIEW v AS SELECT sqlsvm.predict('late', '{}') AS p": r"other objects depend on them\nDETAIL: .*view v depends on",
    "VIEW v AS SELECT name FROM sqlsvm.models": r"other objects depend on them\nDETAIL: .*view v depends on",
    "TABLE sqlsvm.mine (a INT)": "the schema sqlsvm also holds mine",
    "FUNCTION sqlsvm.mine() RETURNS INT LANGUAGE sql AS 'SELECT 1'": "the schema sqlsvm also holds mine",
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_others_made_is_kept(postgres: Engine, other: str) -> None:
    install(postgres)
    postgres.execute(Text(f"CREATE {other}"))
    before = state(postgres)
    with pytest.raises(SqlsvmError, match=OTHERS[other]):
        uninstall(postgres, force=True)
    assert state(postgres) == before


# -- rights ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def plain_role(postgres: Engine) -> Iterator[str]:
    name = exp.to_identifier(f"Plain role {os.getpid()}", quoted=True).sql("postgres")
    postgres.execute(Text(f"CREATE ROLE {name}"))
    yield name
    postgres.execute(Text("RESET ROLE"))
    postgres.execute(Text(f"DROP OWNED BY {name} CASCADE"))
    postgres.execute(Text(f"DROP ROLE {name}"))


def test_the_owner_of_a_database_installs(postgres: Engine, plain_role: str) -> None:
    """No superuser: what a role needs is what the hint says."""
    postgres.execute(Text(f"SET ROLE {plain_role}"))
    with pytest.raises(EngineError, match="may not install sqlsvm: permission denied for database") as e:
        install(postgres)
    assert e.value.hint
    postgres.execute(Text("RESET ROLE"))
    postgres.execute(Text(e.value.hint.partition("can allow it: ")[2]))
    postgres.execute(Text(f"SET ROLE {plain_role}"))
    install(postgres)
    assert listing(postgres) == INSTALLED.read_text(encoding="utf-8")
    open_store(postgres).save(model())
    assert uninstall(postgres, force=True).schema


def test_a_schema_of_somebody_else(postgres: Engine, plain_role: str) -> None:
    install(postgres)
    for text in (f"GRANT USAGE, CREATE ON SCHEMA sqlsvm TO {plain_role}", f"SET ROLE {plain_role}"):
        postgres.execute(Text(text))
    owner = value(postgres, "SELECT session_user AS u")
    for call, verb in ((install, "install"), (upgrade, "upgrade"), (uninstall, "uninstall")):
        with pytest.raises(EngineError, match=re.escape(f"this role may not {verb} sqlsvm: ")) as e:
            call(postgres)
        assert e.value.hint == f"connect as {owner}, who owns the schema sqlsvm"


def test_a_schema_that_was_made_for_the_role(postgres: Engine, plain_role: str) -> None:
    """It may use the schema but not drop it, so it stays when the rest is gone."""
    for text in (
        "CREATE SCHEMA sqlsvm",
        f"GRANT USAGE, CREATE ON SCHEMA sqlsvm TO {plain_role}",
        f"SET ROLE {plain_role}",
    ):
        postgres.execute(Text(text))
    install(postgres)
    assert not uninstall(postgres).schema
    assert (look(postgres).version, look(postgres).form) == (None, 0)
    assert value(postgres, "SELECT COUNT(*) AS n FROM pg_catalog.pg_namespace WHERE nspname = 'sqlsvm'") == 1
