"""What `install`, `upgrade` and `uninstall` leave in a database, for all that can be there before.

`make golden` writes the texts anew: read the difference.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from sqlglot import parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import EngineError, OptionError
from sqlsvm.psql.install import FORMS, install, look, own_version, uninstall, upgrade
from sqlsvm.psql.install.found import function_names, table_names
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.store import Kept, open_store
from sqlsvm.store.database import SCHEMA_VERSION
from sqlsvm.store.templates import folder, template
from tests.ground.models import model
from tests.ground.trained import training
from tests.listing import INSTALLED, listing, state, value
from tests.psql import answer, complaint, psql
from tests.typed import asked, typed

GOLDEN = Path(__file__).parents[1] / "golden"


# -- what there is -----------------------------------------------------------------------------------------------------


def test_the_listing(postgres: Engine) -> None:
    install(postgres)
    found = listing(postgres)
    if "SQLSVM_UPDATE_GOLDEN" in os.environ:
        INSTALLED.write_text(found, encoding="utf-8")
    assert found == INSTALLED.read_text(encoding="utf-8")


def helpers() -> Iterator[tuple[str, str]]:
    for file in (folder() / "internal").iterdir():
        yield file.stem, file.read_text(encoding="utf-8")


UNPINNED = {name for name, text in helpers() if "SET search_path = pg_catalog, pg_temp" not in text}
"""A path of its own has its price. Helpers without one are called only by functions that have one."""


def test_every_object_says_what_it_is() -> None:
    lines = INSTALLED.read_text(encoding="utf-8").splitlines()
    heads, facts, comments = lines[::3], lines[1::3], lines[2::3]
    assert [c for c in comments if "NO COMMENT" in c] == []
    assert [f for f in facts if "security definer" in f] == []
    functions = [(h, f) for h, f in zip(heads, facts, strict=True) if " -> " in h and not h.startswith("version(")]
    assert {h.partition("(")[0] for h, f in functions if "search_path=pg_catalog, pg_temp" not in f} == UNPINNED
    in_a_loop = {name for name, text in helpers() if "LANGUAGE sql" in text or name.startswith("_local_")} | {"_solve"}
    assert in_a_loop >= UNPINNED


def test_the_files_are_the_objects(postgres: Engine) -> None:
    install(postgres)
    names = "SELECT proname AS n FROM pg_catalog.pg_proc WHERE pronamespace = TO_REGNAMESPACE('sqlsvm')"
    assert set(asked(postgres, parse_one(names, read="postgres"))["n"]) == set(function_names())
    tables = "SELECT tablename AS n FROM pg_catalog.pg_tables WHERE schemaname = 'sqlsvm'"
    assert set(asked(postgres, parse_one(tables, read="postgres"))["n"]) == set(table_names())
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


def test_tables_of_others_are_left_alone(postgres: Engine) -> None:
    for text in ("CREATE SCHEMA sqlsvm", "CREATE TABLE sqlsvm.models AS SELECT 42 AS precious"):
        typed(postgres, text)
    with pytest.raises(
        EngineError, match=r'relation "models" already exists\nHINT: the schema sqlsvm holds something else'
    ):
        install(postgres)
    assert value(postgres, "SELECT precious FROM sqlsvm.models") == 42
    assert look(postgres).version is None


def test_where_the_driver_has_stored_models(postgres: Engine, postgres_dsn: str) -> None:
    store = open_store(postgres)
    store.save(model())
    assert look(postgres).form == 1
    install(postgres)
    assert store.load("late").version == 1
    assert store.save(model()) == 2
    assert answer(postgres_dsn, "SELECT version FROM sqlsvm.models();") == ["2", "1"]


PROGRAM = "INSERT INTO sqlsvm.programs VALUES ('late', now(), '', '', '{}', '{}')"
BESIDE_MODELS = "SELECT (SELECT COUNT(*) FROM sqlsvm.programs) + (SELECT COUNT(*) FROM sqlsvm.states) AS n"


@pytest.mark.parametrize("by", ["driver", "function"])
def test_all_of_a_model_goes_with_its_last_version(postgres: Engine, by: str) -> None:
    """Its program and its unfinished training too, but with a single version neither."""
    install(postgres)
    store = open_store(postgres)
    store.save(model("late"))
    store.save(model("late"))
    store.save_state("late", {})
    typed(postgres, PROGRAM)
    for version, left in ((1, 2), (None, 0)):
        if by == "driver":
            assert store.drop("late", version) == (Kept((1,)) if version else Kept((2,), program=True, state=True))
        else:
            postgres.fetch(Text("SELECT sqlsvm.drop_model('late', $1::integer) AS gone"), [version])
        assert value(postgres, BESIDE_MODELS) == left


@pytest.mark.parametrize("by", ["driver", "function"])
@pytest.mark.parametrize(("what", "said"), [("program", "the program"), ("state", "the unfinished training")])
def test_what_never_became_a_model_goes_too(postgres: Engine, postgres_dsn: str, by: str, what: str, said: str) -> None:
    install(postgres)
    store = open_store(postgres)
    if what == "program":
        typed(postgres, PROGRAM)
    else:
        store.save_state("late", {})
    if by == "driver":
        assert store.drop("late") == Kept(program=what == "program", state=what == "state")
    else:
        dropped = psql(postgres_dsn, "SELECT sqlsvm.drop_model('late');")
        assert (dropped.code, dropped.lines) == (0, ["{}"])
        assert f'dropped {said} of "late"\n' in dropped.err
    assert value(postgres, BESIDE_MODELS) == 0
    assert complaint(postgres_dsn, "SELECT sqlsvm.drop_model('late');")["SQLSTATE"] == "SV001"


def test_all_or_nothing(postgres: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last file is refused: what the others made is gone with it."""
    broken = "sqlsvm.psql.install.put.function_templates"
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
    typed(engine, f"CREATE OR REPLACE FUNCTION sqlsvm.version() RETURNS text LANGUAGE sql AS $${body}$$")


def test_from_the_first_form_of_the_store(postgres: Engine, postgres_dsn: str) -> None:
    """golden/store_form_1.sql is a store as pg_dump found it: its models still load, and predict in SQL too."""
    said = psql(postgres_dsn, (GOLDEN / "store_form_1.sql").read_text(encoding="utf-8"))
    assert said.code == 0, said.err
    older(postgres)
    for helper in ("_gone()", "_body(model text, version integer)"):  # one that is no more, one with another result
        typed(postgres, f"CREATE FUNCTION sqlsvm.{helper} RETURNS integer LANGUAGE sql AS 'SELECT 1'")
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


def test_programs_of_an_older_sqlsvm(postgres: Engine, postgres_dsn: str) -> None:
    """They have no statements any more. They do not run, and say what to do."""
    install(postgres)
    typed(postgres, "CREATE TABLE t AS SELECT n % 2 AS y, n AS x FROM generate_series(1, 9) AS n")
    text = "SELECT y, x FROM t"
    save_program(postgres, "old", stored_program(postgres, text, training()))
    typed(postgres, "DELETE FROM sqlsvm.statements")
    found = complaint(postgres_dsn, "SELECT sqlsvm.train('old');")
    assert (found["SQLSTATE"], found["MESSAGE"]) == ("SV002", 'the program "old" was compiled by an older sqlsvm')
    assert found["HINT"].startswith("Compile it again: sqlsvm compile --name 'old' --label 'y' ")
    save_program(postgres, "old", stored_program(postgres, text, training()))
    assert answer(postgres_dsn, "SET client_min_messages = warning; SELECT passes > 0 FROM sqlsvm.train('old');") == [
        "t"
    ]


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
