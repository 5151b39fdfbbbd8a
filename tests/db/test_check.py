"""`check` finds what is wrong, and leaves everything as it was."""

from contextlib import suppress

import pytest

from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import EngineError
from sqlsvm.psql.install import install, look
from sqlsvm.psql.install.check import check
from sqlsvm.psql.install.found import table_names
from sqlsvm.store import open_store
from tests.ground.models import model
from tests.listing import listing
from tests.typed import asked, typed

EVERYTHING = [
    *("server", "functions", "train", "certificate", "weight", "score_sql", "predict"),
    *("drop_model", "left behind"),
]


def counted(engine: Engine) -> list[int]:
    """Rows of the store, and of the catalog with its temporary tables."""
    tables = [f"sqlsvm.{name}" for name in table_names()] + ["pg_class", "pg_proc", "pg_type"]
    return [int(asked(engine, f"SELECT count(*) AS n FROM {table}")["n"][0]) for table in tables]


def bad(engine: Engine) -> dict[str, str]:
    return {finding.what: finding.found for finding in check(engine) if not finding.good}


def test_an_empty_database_stays_empty(postgres: Engine) -> None:
    findings = check(postgres)
    assert [finding.what for finding in findings] == EVERYTHING
    assert [finding for finding in findings if not finding.good] == []
    assert (look(postgres).version, look(postgres).form) == (None, 0)


def test_what_is_installed_stays_as_it_is(postgres: Engine) -> None:
    install(postgres)
    for name in ("late", "sqlsvm check"):
        open_store(postgres).save(model(name))
    before = listing(postgres), counted(postgres)
    assert bad(postgres) == {}
    assert (listing(postgres), counted(postgres)) == before


BROKEN = {
    "CREATE OR REPLACE FUNCTION sqlsvm._scored(body jsonb, features jsonb, probable boolean) RETURNS float8[] "
    "LANGUAGE sql AS 'SELECT ARRAY[0.1]'": {
        "score_sql": "the same score as decision_function in 0 of 240 rows",
        "predict": "the likelier label in 120 of 240 rows",
    },
    "CREATE OR REPLACE FUNCTION sqlsvm._check_rights() RETURNS void LANGUAGE plpgsql AS "
    "'BEGIN RAISE EXCEPTION ''out of order''; END'": {"train": "out of order"},
    "CREATE OR REPLACE FUNCTION sqlsvm.version() RETURNS text LANGUAGE sql AS 'SELECT ''0.0.9'''": {
        "functions": "of sqlsvm 0.0.9; sqlsvm upgrade brings 0.1.0"
    },
    "DROP FUNCTION sqlsvm.models()": {"functions": "missing: models; sqlsvm install puts them back"},
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken_is_found(postgres: Engine, broken: str) -> None:
    install(postgres)
    typed(postgres, broken)
    before = counted(postgres)
    assert bad(postgres) == BROKEN[broken]
    assert counted(postgres) == before


def test_a_role_that_could_not_install_is_told(postgres: Engine, plain_role: str) -> None:
    postgres.execute(Text(f"SET ROLE {plain_role}"))
    (found,) = bad(postgres).values()
    assert found.startswith("this role may not install sqlsvm: permission denied for database")
    assert "HINT: the owner of the database can allow it: GRANT CREATE" in found


def test_a_rehearsal_takes_everything_back(postgres: Engine) -> None:
    """Snapshots inside are parts of it; one that fails takes back what is its own, and the rehearsal goes on."""
    assert hasattr(postgres, "rehearsal")
    with postgres.rehearsal():
        with postgres.snapshot():
            typed(postgres, "CREATE TABLE kept (a INT)")
        with suppress(ZeroDivisionError), postgres.snapshot():
            typed(postgres, "CREATE TABLE failed (a INT)")
            raise ZeroDivisionError
        with pytest.raises(EngineError, match="snapshot is already open"), postgres.rehearsal():
            pass
        found = asked(postgres, "SELECT to_regclass('kept')::text AS a, to_regclass('failed')::text AS b")
        assert [values[0] for values in found.values()] == ["kept", None]
    found = asked(postgres, "SELECT to_regclass('kept')::text AS a")
    assert found["a"][0] is None
    with postgres.snapshot():
        pass
