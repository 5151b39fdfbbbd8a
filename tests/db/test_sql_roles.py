"""What a reader and a trainer may do, through psql, and how others are told what to ask for."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlglot import exp

from sqlsvm.engine.base import Engine
from sqlsvm.psql.install import install
from sqlsvm.store import open_store
from sqlsvm.store.templates import folder
from tests.ground.models import model
from tests.psql import answer, complaint
from tests.typed import typed

FEATURES = json.dumps({"distance": 1, "heavy": 0, "carrier": "UA", "month": 7})
READS = (
    "sqlsvm.predict('late', :'f')",
    "sqlsvm.decision_function('late', :'f')",
    "length(sqlsvm.score_sql('late'))",
    "count(*) FROM sqlsvm.weights('late')",
    "count(*) FROM sqlsvm.training_info('late')",
    "count(*) FROM sqlsvm.models()",
    "sqlsvm.version()",
)


CHANGES = ("sqlsvm.drop_model('late')", "sqlsvm.train('late')")


@pytest.fixture
def dsn(installed: Engine, installed_dsn: str) -> str:
    open_store(installed).save(model())
    return installed_dsn


@contextmanager
def three_roles(engine: Engine, prefix: str) -> Iterator[dict[str, str]]:
    """A reader, a trainer, and one who may only look into the schema; granted by what install would grant."""
    named = {kind: f'{prefix} {kind} "of" all' for kind in ("reader", "trainer", "nobody")}
    quoted = [exp.to_identifier(name, quoted=True).sql("postgres") for name in named.values()]
    for name in quoted:
        typed(engine, f"CREATE ROLE {name}")
    try:
        typed(engine, f"GRANT USAGE ON SCHEMA sqlsvm TO {quoted[2]}")
        install(engine, [named["reader"]], [named["trainer"]])
        yield named
    finally:
        for name in quoted:
            typed(engine, f"DROP OWNED BY {name}")
            typed(engine, f"DROP ROLE {name}")


@pytest.fixture
def roles(installed: Engine, dsn: str, prefix: str) -> Iterator[dict[str, str]]:
    with three_roles(installed, prefix) as named:
        yield named


def given(role: str) -> dict[str, str]:
    return {"role": role, "f": FEATURES}


def script(*statements: str) -> str:
    return "\n".join(['SET ROLE :"role";', *(f"{statement};" for statement in statements)])


def test_a_reader_predicts_and_lists(dsn: str, roles: dict[str, str]) -> None:
    found = answer(dsn, script(*(f"SELECT {call}" for call in READS)), given(roles["reader"]))
    assert found[:2] == ["-1", "-1.799"]
    assert len(found) == len(READS)


@pytest.mark.parametrize("call", CHANGES)
def test_a_reader_changes_nothing(dsn: str, roles: dict[str, str], call: str) -> None:
    found = complaint(dsn, script(f"SELECT {call}"), given(roles["reader"]))
    assert found["SQLSTATE"] == "SV006"
    assert found["MESSAGE"] == f'role "{roles["reader"]}" may not change the models of sqlsvm'
    assert found["DETAIL"] == "That needs SELECT, INSERT, UPDATE, DELETE on the tables in schema sqlsvm."
    assert complaint(dsn, script("DELETE FROM sqlsvm.models"), given(roles["reader"]))["SQLSTATE"] == "42501"


def test_a_trainer_drops_and_does_not_change_the_form(dsn: str, roles: dict[str, str]) -> None:
    dropped = script("BEGIN", "SELECT sqlsvm.drop_model('late') IS NULL", "ROLLBACK")
    assert answer(dsn, dropped, given(roles["trainer"])) == ["f"]
    form = script("INSERT INTO sqlsvm.schema_version (version) VALUES (9)")
    assert complaint(dsn, form, given(roles["trainer"]))["SQLSTATE"] == "42501"


@pytest.mark.parametrize("call", [READS[0], CHANGES[0]])
def test_what_the_hint_says_is_typed_and_works(dsn: str, roles: dict[str, str], call: str) -> None:
    found = complaint(dsn, script(f"SELECT {call}"), given(roles["nobody"]))
    assert found["SQLSTATE"] == "SV006"
    grant = found["HINT"].partition("can run: ")[2]
    assert answer(dsn, grant + script("BEGIN", f"SELECT {call} IS NULL", "ROLLBACK"), given(roles["nobody"])) == ["f"]


def test_the_grants_can_be_run_by_hand(dsn: str, roles: dict[str, str]) -> None:
    by_hand = f"SELECT set_config('sqlsvm.reader', :'role', false) IS NULL;\n\\i {folder() / 'grants.sql'}\n"
    found = answer(dsn, by_hand + script("SELECT count(*) > 0 FROM sqlsvm.models()"), given(roles["nobody"]))
    assert found == ["f", "t"]


def test_where_nobody_may_execute_functions(postgres: Engine, postgres_dsn: str, prefix: str) -> None:
    """What install grants is enough also where ALTER DEFAULT PRIVILEGES has taken EXECUTE from everybody."""
    typed(postgres, "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
    open_store(postgres).save(model())
    with three_roles(postgres, prefix) as named:
        denied = complaint(postgres_dsn, script(f"SELECT {READS[0]}"), given(named["nobody"]))
        assert (denied["SQLSTATE"], denied["MESSAGE"]) == ("42501", "permission denied for function predict")
        for kind in ("reader", "trainer"):
            found = answer(postgres_dsn, script(*(f"SELECT {call}" for call in READS)), given(named[kind]))
            assert (found[:2], len(found)) == (["-1", "-1.799"], len(READS))
        dropped = script("SELECT sqlsvm.drop_model('late')")
        assert complaint(postgres_dsn, dropped, given(named["reader"]))["SQLSTATE"] == "SV006"
        assert answer(postgres_dsn, dropped, given(named["trainer"])) == ["{1}"]
