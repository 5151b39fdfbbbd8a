"""What `uninstall` removes, what it never removes, and what the verbs say to a role that may not do it."""

import re

import pytest

from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import EngineError, OptionError, SqlsvmError
from sqlsvm.psql.install import install, look, uninstall, upgrade
from sqlsvm.psql.install.found import function_names, table_names
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.store import open_store
from tests.ground.models import model
from tests.ground.trained import training
from tests.listing import INSTALLED, listing, state, value
from tests.typed import typed


def test_nothing_is_left(postgres: Engine) -> None:
    install(postgres)
    gone = uninstall(postgres)
    assert (gone.functions, gone.tables) == (len(function_names()), len(table_names()))
    assert (gone.models, gone.schema) == ((), True)
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


def test_a_program_is_kept_too(postgres: Engine) -> None:
    install(postgres)
    typed(postgres, "CREATE TABLE t AS SELECT n % 2 AS y, n AS x FROM generate_series(1, 9) AS n")
    save_program(postgres, "never trained", stored_program(postgres, "SELECT y, x FROM t", training()))
    with pytest.raises(OptionError, match="1 model would be lost: never trained"):
        uninstall(postgres)


DEPENDS = r"other objects depend on them\nDETAIL: .*view public.v depends on"
OTHERS = {
    "VIEW v AS SELECT sqlsvm.predict('late', '{}') AS p": DEPENDS,
    "VIEW v AS SELECT name FROM sqlsvm.models": DEPENDS,
    "TABLE sqlsvm.mine (a INT)": "the schema sqlsvm also holds mine",
    "FUNCTION sqlsvm.mine() RETURNS INT LANGUAGE sql AS 'SELECT 1'": "the schema sqlsvm also holds mine",
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_others_made_is_kept(postgres: Engine, other: str) -> None:
    install(postgres)
    typed(postgres, f"CREATE {other}")
    before = state(postgres)
    with pytest.raises(SqlsvmError, match=OTHERS[other]):
        uninstall(postgres, force=True)
    assert state(postgres) == before


# -- rights ------------------------------------------------------------------------------------------------------------


def test_the_owner_of_a_database_installs(postgres: Engine, plain_role: str) -> None:
    """No superuser: what a role needs is what the hint says."""
    postgres.execute(Text(f"SET ROLE {plain_role}"))
    with pytest.raises(EngineError, match="may not install sqlsvm: permission denied for database") as e:
        install(postgres)
    assert e.value.hint
    postgres.execute(Text("RESET ROLE"))
    typed(postgres, e.value.hint.partition("can allow it: ")[2])
    postgres.execute(Text(f"SET ROLE {plain_role}"))
    install(postgres)
    assert listing(postgres) == INSTALLED.read_text(encoding="utf-8")
    open_store(postgres).save(model())
    assert uninstall(postgres, force=True).schema


def test_a_schema_that_is_closed(postgres: Engine, plain_role: str) -> None:
    install(postgres)
    postgres.execute(Text(f"SET ROLE {plain_role}"))
    for call in (install, upgrade, uninstall, look):
        with pytest.raises(EngineError, match=r"sqlsvm: permission denied for schema sqlsvm\nHINT: connect as "):
            call(postgres)


def test_a_schema_of_somebody_else(postgres: Engine, plain_role: str) -> None:
    install(postgres)
    for text in (f"GRANT USAGE, CREATE ON SCHEMA sqlsvm TO {plain_role}", f"SET ROLE {plain_role}"):
        typed(postgres, text)
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
        typed(postgres, text)
    install(postgres)
    assert not uninstall(postgres).schema
    assert (look(postgres).version, look(postgres).form) == (None, 0)
    assert value(postgres, "SELECT COUNT(*) AS n FROM pg_catalog.pg_namespace WHERE nspname = 'sqlsvm'") == 1
