"""A schema `sqlsvm` in which another role has a hand is refused before anything of it is called or written."""

import os
import re
from collections.abc import Callable, Iterator

import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Programmable, Text
from sqlsvm.errors import EngineError
from sqlsvm.psql.install import install, look, uninstall, upgrade
from sqlsvm.psql.install.check import check
from sqlsvm.psql.stored_program import check_place
from sqlsvm.store import open_store
from tests.cli.command import sqlsvm
from tests.ground.models import model
from tests.ground.roles import logins, run
from tests.listing import value

MALLORY = f"mallory {os.getpid()}"
WHO = f'"{MALLORY}"'

# If this runs with the rights of a superuser, the server is lost.
FUNCTION = f"LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE {WHO} SUPERUSER; RETURN '0.0.1'; END $$"
TRIGGER = f"RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE {WHO} SUPERUSER; RETURN NEW; END $$"


@pytest.fixture
def mallory(postgres: Engine, postgres_dsn: str) -> Iterator[str]:
    """A role that may make schemas in this database, and nothing else."""
    with logins(postgres, postgres_dsn, MALLORY) as (dsn,):
        postgres.execute(Text(f"GRANT CREATE ON DATABASE {value_of(postgres, 'CURRENT_DATABASE()')} TO {WHO}"))
        yield dsn


def value_of(engine: Engine, expression: str) -> str:
    return f'"{value(engine, f"SELECT {expression} AS v")}"'


def is_superuser(engine: Engine) -> bool:
    found = engine.fetch(Text("SELECT rolsuper AS v FROM pg_catalog.pg_roles WHERE rolname = $1"), [MALLORY])
    return bool(found["v"][0])


CALLS: dict[str, Callable[[Engine], object]] = {
    "install": install,
    "upgrade": upgrade,
    "uninstall": lambda engine: uninstall(engine, force=True),
    "look": look,
    "compile": lambda engine: check_place(engine, "late"),
    "store check": lambda engine: open_store(engine).check("late"),
    "save": lambda engine: open_store(engine).save(model()),
    "load": lambda engine: open_store(engine).load("late"),
    "models": lambda engine: open_store(engine).models(),
    "kept": lambda engine: open_store(engine).kept("late"),
    "drop": lambda engine: open_store(engine).drop("late"),
    "save state": lambda engine: open_store(engine).save_state("late", {}),
    "load state": lambda engine: open_store(engine).load_state("late"),
    "drop state": lambda engine: open_store(engine).drop_state("late"),
}


def test_a_planted_schema_gets_nobody_to_call_it(postgres: Engine, mallory: str) -> None:
    """It looks like an older version: a version to ask for, tables to read, triggers on what is written."""
    store = open_store(postgres)
    store.save(model())
    store.save_state("late", {})
    tables = ("schema_version", "models", "versions", "iterations", "states")
    run(
        mallory,
        "CREATE SCHEMA planted",
        f"CREATE FUNCTION planted.version() RETURNS text {FUNCTION}",
        f"CREATE FUNCTION planted.f() {TRIGGER}",
    )
    for name in tables:
        postgres.execute(Text(f"GRANT SELECT ON sqlsvm.{name} TO {WHO}"))
    postgres.execute(Text(f"GRANT USAGE ON SCHEMA sqlsvm TO {WHO}"))
    for name in tables:
        run(
            mallory,
            f"CREATE TABLE planted.{name} (LIKE sqlsvm.{name} INCLUDING DEFAULTS INCLUDING INDEXES)",
            f"INSERT INTO planted.{name} SELECT * FROM sqlsvm.{name}",
            f"CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON planted.{name} EXECUTE FUNCTION planted.f()",
        )
    run(mallory, "CREATE TABLE planted.programs AS SELECT 'late'::text AS name")
    postgres.execute(Text("DROP SCHEMA sqlsvm CASCADE"))
    run(mallory, "ALTER SCHEMA planted RENAME TO sqlsvm")
    for name, call in CALLS.items():
        with pytest.raises(EngineError, match=f'not safe to use: role "{MALLORY}" owns schema sqlsvm') as e:
            call(postgres)
        assert f"--trust-owner '{MALLORY}'" in str(e.value), name
        assert not is_superuser(postgres), name
    assert {(f.what, f.good) for f in check(postgres)} == {("owners", False)}
    assert not is_superuser(postgres)


PLANTED = {
    f"GRANT CREATE ON SCHEMA sqlsvm TO {WHO}": "may create objects in schema sqlsvm",
    f"GRANT TRIGGER ON sqlsvm.models TO {WHO}": "may add triggers to table sqlsvm.models",
    f"GRANT REFERENCES ON sqlsvm.models TO {WHO}": "may add foreign keys to table sqlsvm.models",
    f"GRANT REFERENCES (name) ON sqlsvm.models TO {WHO}": "may add foreign keys to table sqlsvm.models",
    f"""CREATE TABLE public.child (name text REFERENCES sqlsvm.models ON DELETE CASCADE);
        ALTER TABLE public.child OWNER TO {WHO}; --""": "owns table public.child",
    f"ALTER FUNCTION sqlsvm.version() OWNER TO {WHO}": "owns function sqlsvm.version()",
    f"ALTER FUNCTION sqlsvm._nearest(text, text[]) OWNER TO {WHO}": "owns function sqlsvm._nearest(",
    f"ALTER TABLE sqlsvm.iterations OWNER TO {WHO}": "owns table sqlsvm.iterations",
    f"ALTER TYPE sqlsvm._given OWNER TO {WHO}": "owns composite type sqlsvm._given",
    f"CREATE VIEW sqlsvm.v AS SELECT 1 AS x; ALTER VIEW sqlsvm.v OWNER TO {WHO}": "owns view sqlsvm.v",
    f"CREATE SEQUENCE sqlsvm.s; ALTER SEQUENCE sqlsvm.s OWNER TO {WHO}": "owns sequence sqlsvm.s",
    f"CREATE DOMAIN sqlsvm.d AS text; ALTER DOMAIN sqlsvm.d OWNER TO {WHO}": "owns type sqlsvm.d",
    f"CREATE PROCEDURE sqlsvm.p() LANGUAGE sql AS ''; ALTER PROCEDURE sqlsvm.p() OWNER TO {WHO}": "owns procedure",
    f"""CREATE AGGREGATE sqlsvm.a(integer) (SFUNC = int4pl, STYPE = integer);
        ALTER AGGREGATE sqlsvm.a(integer) OWNER TO {WHO}""": "owns aggregate sqlsvm.a(integer)",
    f"""CREATE OPERATOR sqlsvm.+ (LEFTARG = text, RIGHTARG = text, FUNCTION = textcat);
        ALTER OPERATOR sqlsvm.+ (text, text) OWNER TO {WHO}""": "owns operator sqlsvm.+(",
    f"""CREATE TABLE public.child () INHERITS (sqlsvm.models);
        ALTER TABLE public.child OWNER TO {WHO}""": "owns table public.child",
    "CREATE TRIGGER t BEFORE INSERT ON sqlsvm.models FOR EACH ROW EXECUTE FUNCTION hers.f()": (
        "wrote what runs in trigger t on sqlsvm.models"
    ),
    "ALTER TABLE sqlsvm.models ADD COLUMN x text DEFAULT hers.g()": "wrote what runs in default value for",
    "ALTER TABLE sqlsvm.models ADD CHECK (hers.g() IS NOT NULL) NOT VALID": "wrote what runs in table constraint",
    "CREATE POLICY p ON sqlsvm.models USING (hers.g() = '')": "wrote what runs in policy p on sqlsvm.models",
    "CREATE RULE r AS ON INSERT TO sqlsvm.models DO ALSO SELECT hers.g()": "wrote what runs in rule r on sqlsvm.models",
    "CREATE TABLE sqlsvm.t (x hers.d)": "wrote what runs in table sqlsvm.t",
}


def test_each_way_to_plant_something_is_found(postgres: Engine, mallory: str) -> None:
    """In a schema that is the superuser's own; `check` names each, and nothing of it runs."""
    install(postgres)
    run(
        mallory,
        "CREATE SCHEMA hers",
        f"CREATE FUNCTION hers.f() {TRIGGER}",
        f"CREATE FUNCTION hers.g() RETURNS text {FUNCTION}",
        "CREATE DOMAIN hers.d AS text",
    )
    assert isinstance(postgres, Programmable)
    assert postgres.strangers("sqlsvm") == ()
    for planting, said in PLANTED.items():
        with postgres.rehearsal():
            postgres.run_script(planting)
            found = check(postgres)
            assert {f.good for f in found} == {False}, planting
            assert any(f.found.startswith(f'role "{MALLORY}" {said}') for f in found), (planting, found)
            with pytest.raises(EngineError, match="the schema sqlsvm is not safe to use"):
                open_store(postgres).models()
            assert not is_superuser(postgres), planting
    assert all(f.good for f in check(postgres))


def test_what_the_hint_says_takes_the_right_back(postgres: Engine, mallory: str) -> None:
    install(postgres)
    for right in ("CREATE ON SCHEMA sqlsvm", "TRIGGER ON sqlsvm.models"):
        for role in (WHO, "PUBLIC"):
            postgres.execute(Text(f"GRANT {right} TO {role}"))
            with pytest.raises(EngineError) as e:
                look(postgres)
            assert e.value.hint
            postgres.execute(Text(e.value.hint.partition("take that right back: ")[2]))
            assert look(postgres).version


def test_views_of_others_over_the_models_are_no_part_of_the_schema(postgres: Engine, mallory: str) -> None:
    install(postgres)
    postgres.execute(Text(f"GRANT USAGE ON SCHEMA sqlsvm TO {WHO}"))
    postgres.execute(Text(f"GRANT SELECT ON sqlsvm.models TO {WHO}"))
    run(
        mallory,
        "CREATE SCHEMA hers",
        f"CREATE FUNCTION hers.g() RETURNS text {FUNCTION}",
        "CREATE VIEW hers.v AS SELECT name, hers.g() AS g, sqlsvm.version() AS v FROM sqlsvm.models",
    )
    assert postgres.strangers("sqlsvm") == ()


# -- whom a role trusts ------------------------------------------------------------------------------------------------


def test_whom_a_role_trusts(postgres: Engine, postgres_dsn: str) -> None:
    """Itself, superusers and whom it names. Not its groups: a role that may grant itself makes anybody its member."""
    names = [f"{kind} {os.getpid()}" for kind in ("user", "group", "above", "owner", "other")]
    user, group, above, owner, other = names
    database = value_of(postgres, "CURRENT_DATABASE()")
    me = str(value(postgres, "SELECT session_user AS v"))
    with logins(postgres, postgres_dsn, *names) as (dsn, *_):
        for text in (f'"{group}" TO "{user}"', f'"{above}" TO "{group}"', f'"{user}" TO "{other}"'):
            postgres.execute(Text(f"GRANT {text}"))
        postgres.execute(Text(f'ALTER DATABASE {database} OWNER TO "{owner}"'))
        try:
            everyone = [*names, me, "pg_database_owner", "pg_monitor", "no such role", None]
            with connect(dsn) as engine:
                assert [n for n in everyone if engine.trusts(n)] == [user, me]
                engine.trusted = frozenset([other])
                assert engine.trusts(other)
            assert [n for n in everyone if postgres.trusts(n)] == [me]
            postgres.execute(Text(f'SET ROLE "{user}"'))  # a session that can go back is still a superuser's
            assert [n for n in everyone if postgres.trusts(n)] == [user, me]
        finally:
            postgres.execute(Text("RESET ROLE"))
            postgres.execute(Text(f'ALTER DATABASE {database} OWNER TO "{me}"'))


def test_a_role_that_grants_itself_is_a_stranger(postgres: Engine, postgres_dsn: str, mallory: str) -> None:
    victim, tool = f"victim {os.getpid()}", f"tool {os.getpid()}"
    with logins(postgres, postgres_dsn, victim, tool) as (dsn, tool_dsn):
        postgres.execute(Text(f'GRANT {WHO} TO "{tool}" WITH ADMIN OPTION'))
        run(tool_dsn, f'GRANT {WHO} TO "{victim}"')
        run(mallory, "CREATE SCHEMA sqlsvm")
        with connect(dsn) as engine, pytest.raises(EngineError, match=f'role "{MALLORY}" owns schema sqlsvm'):
            open_store(engine).models()


def test_the_owner_of_the_database_is_named(postgres: Engine, postgres_dsn: str) -> None:
    """From the command line nobody else is trusted unasked."""
    owner, user = (f"{kind} {os.getpid()}" for kind in ("owner", "user"))
    database = value_of(postgres, "CURRENT_DATABASE()")
    me = value_of(postgres, "session_user")
    with logins(postgres, postgres_dsn, owner, user) as (owner_dsn, user_dsn):
        postgres.execute(Text(f'ALTER DATABASE {database} OWNER TO "{owner}"'))
        try:
            with connect(owner_dsn) as engine:
                install(engine, readers=[user])
                open_store(engine).save(model())
            for dsn in (user_dsn, postgres_dsn):
                with connect(dsn) as engine:
                    with pytest.raises(EngineError, match=re.escape(f'role "{owner}" owns schema sqlsvm')):
                        open_store(engine).models()
                    engine.trusted = frozenset([owner])
                    assert len(open_store(engine).models()) == 1
            said = sqlsvm("models", "--dsn", postgres_dsn)
            assert (said.returncode, f"--trust-owner '{owner}'" in said.stderr) == (1, True)
            assert sqlsvm("models", "--dsn", postgres_dsn, "--trust-owner", owner).returncode == 0
        finally:
            postgres.execute(Text(f"ALTER DATABASE {database} OWNER TO {me}"))


def test_no_environment_variable_trusts(postgres: Engine, postgres_dsn: str, mallory: str) -> None:
    run(mallory, "CREATE SCHEMA sqlsvm")
    names = ("SQLSVM_TRUST_OWNER", "SQLSVM_TRUSTED", "TRUST_OWNER")
    said = sqlsvm("models", "--dsn", postgres_dsn, env=dict.fromkeys(names, MALLORY))
    assert (said.returncode, "not safe to use" in said.stderr) == (1, True)


def test_a_schema_that_comes_while_another_session_looks(postgres: Engine, postgres_dsn: str, mallory: str) -> None:
    """The snapshot of an install is older than the schema: the install begins again, and then sees whose it is."""
    planted: list[str] = []

    def plant(text: str) -> None:
        if "CREATE SCHEMA" in text and not planted:
            planted.append(text)
            run(mallory, "CREATE SCHEMA sqlsvm", f"CREATE FUNCTION sqlsvm.version() RETURNS text {FUNCTION}")

    postgres.on_statement = plant
    with pytest.raises(EngineError, match=f'not safe to use: role "{MALLORY}" owns schema sqlsvm'):
        install(postgres)
    assert planted
    assert not is_superuser(postgres)
