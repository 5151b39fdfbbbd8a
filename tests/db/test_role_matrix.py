"""The table in docs/security.md of what each role can do: each cell is tried on a server."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Programmable
from sqlsvm.errors import SqlsvmError
from sqlsvm.psql.install import install, uninstall, upgrade
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.evaluating import evaluate_model
from tests.ground.roles import logins
from tests.listing import value
from tests.typed import typed

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
KINDS = ("stranger", "reader", "trainer", "owner", "superuser")
NAMES = {kind: f"{kind} {os.getpid()}" for kind in ("stranger", "reader", "trainer", "owner", "other")}
TRAINING = Training("y", lam=0.1)
QUERY, SECRET = "SELECT y, x FROM t", "SELECT y, x FROM secret"


def cells() -> dict[str, dict[str, str]]:
    """The table of the page: by action and role."""
    rows = re.findall(r"^\| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    table = [[cell.strip() for cell in row.split("|")] for row in rows if "---" not in row]
    head, *body = [row for row in table if len(row) == len(KINDS) + 1]
    assert tuple(head[1:]) == KINDS
    return {action: dict(zip(KINDS, said, strict=True)) for action, *said in body}


@dataclass(frozen=True)
class Caller:
    """A role that tries something, with or without naming those whom it trusts."""

    dsn: str
    named: bool

    def sql(self, *statements: str) -> None:
        """In one transaction, which is rolled back. TRUST stands for the argument that names the other trainer."""
        with psycopg.connect(self.dsn) as session:
            for statement in statements:
                trust = f", trust => '{NAMES['other']}'" if self.named else ""
                session.execute(statement.replace("TRUST", trust).encode())
            session.rollback()

    def python(self, work: Callable[[Engine], object]) -> None:
        """The same from the driver."""
        with connect(self.dsn) as engine:
            assert isinstance(engine, Programmable)
            if self.named:
                engine.trusted = frozenset((NAMES["owner"], NAMES["other"]))
            with engine.rehearsal():
                work(engine)

    def evaluate(self, name: str) -> None:
        """Outside of a rehearsal: an evaluation has a snapshot of its own."""
        with connect(self.dsn) as engine:
            if self.named:
                engine.trusted = frozenset((NAMES["owner"], NAMES["other"]))
            evaluate_model(engine, open_store(engine).load(name))


def compile_late(engine: Engine) -> None:
    save_program(engine, "late", stored_program(engine, QUERY, TRAINING))


ACTIONS: dict[str, tuple[Callable[[Caller], None], ...]] = {
    "list models, show weights, predict rows, in psql": (
        lambda c: c.sql("SELECT * FROM sqlsvm.models()"),
        lambda c: c.sql("SELECT sqlsvm.weights('others')"),
        lambda c: c.sql("SELECT sqlsvm.predict('others', '{\"x\": 1}')"),
    ),
    "the same, and evaluate a model of the owner, from the command line": (
        lambda c: c.python(lambda engine: open_store(engine).models()),
        lambda c: c.python(lambda engine: open_store(engine).load("others")),
        lambda c: c.evaluate("owners"),
    ),
    "run a program of the owner in psql": (lambda c: c.sql("SELECT sqlsvm.evaluate('owners', '{}')"),),
    "run a program of another trainer in psql, evaluate its model from the command line": (
        lambda c: c.sql("SELECT sqlsvm.evaluate('others', '{}'TRUST)"),
        lambda c: c.evaluate("others"),
    ),
    "evaluate on tables without the right to read them": (lambda c: c.sql("SELECT sqlsvm.evaluate('secret', '{}')"),),
    "train from a program of the owner, drop a model, lock a program so that others wait": (
        lambda c: c.sql("SELECT sqlsvm.train('owners')"),
        lambda c: c.sql("SELECT sqlsvm.drop_model('others')"),
        lambda c: c.sql("SELECT FROM sqlsvm.programs FOR NO KEY UPDATE"),
    ),
    "compile a program": (lambda c: c.python(compile_late),),
    "store a row in the name of another role, or change one and leave its name": (
        lambda c: c.sql(
            f"INSERT INTO sqlsvm.statements VALUES ('owners', 'x', 1, 'x', 'x', '{{}}', '{NAMES['other']}')"
        ),
        lambda c: c.sql("UPDATE sqlsvm.statements SET text = '' WHERE program = 'others'"),
    ),
    "replace a function, add a trigger, make an object in the schema": (
        lambda c: c.sql(
            """CREATE OR REPLACE FUNCTION sqlsvm.version() RETURNS text
                LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT '9' $$"""
        ),
        lambda c: c.sql(
            "CREATE TRIGGER t BEFORE INSERT ON sqlsvm.models EXECUTE FUNCTION suppress_redundant_updates_trigger()"
        ),
        lambda c: c.sql("CREATE TABLE sqlsvm.mine (a integer)"),
    ),
    "upgrade, uninstall": (
        lambda c: c.python(upgrade),
        lambda c: c.python(lambda engine: uninstall(engine, force=True)),
    ),
}


def tried(act: Callable[[Caller], None], dsn: str) -> str:
    for named, said in ((False, "yes"), (True, "if named")):
        try:
            act(Caller(dsn, named))
        except (SqlsvmError, psycopg.Error):
            continue
        return said
    return "no"


@pytest.fixture
def places(postgres: Programmable, postgres_dsn: str) -> Iterator[dict[str, str]]:
    """The database of the page: models and programs of the owner, `owners`, and of a second trainer, `others`."""
    database = f'"{value(postgres, "SELECT CURRENT_DATABASE() AS v")}"'
    me = f'"{value(postgres, "SELECT session_user AS v")}"'
    with logins(postgres, postgres_dsn, *NAMES.values()) as dsns:
        places = {**dict(zip(NAMES, dsns, strict=True)), "superuser": postgres_dsn}
        postgres.run_script(f"""
            CREATE TABLE public.t AS SELECT n % 2 AS y, n % 7 AS x FROM generate_series(1, 40) AS n;
            CREATE TABLE public.secret AS SELECT * FROM public.t;
            ALTER DATABASE {database} OWNER TO "{NAMES["owner"]}";
            GRANT SELECT ON public.secret TO "{NAMES["owner"]}"; GRANT SELECT ON public.t TO PUBLIC""")
        with connect(places["owner"]) as owner:
            install(owner, [NAMES["reader"]], [NAMES["trainer"], NAMES["other"]])
            store(owner, "owners", QUERY)
            store(owner, "secret", SECRET)
        with connect(places["other"]) as other:
            other.trusted = frozenset([NAMES["owner"]])
            store(other, "others", QUERY)
        typed(postgres, f'REVOKE SELECT ON public.secret FROM "{NAMES["owner"]}"')
        yield places
        typed(postgres, f"ALTER DATABASE {database} OWNER TO {me}")


def store(engine: Engine, name: str, query: str) -> None:
    save_program(engine, name, stored_program(engine, query, TRAINING))
    open_store(engine).save(train(engine, name, query, TRAINING))


@pytest.mark.slow
def test_each_cell_of_the_page(places: dict[str, str]) -> None:
    page = cells()
    assert page.keys() == ACTIONS.keys()
    for action, acts in ACTIONS.items():
        for place, act in enumerate(acts):
            assert {kind: tried(act, places[kind]) for kind in KINDS} == page[action], (action, place)
