"""Every store keeps the same promises: a database of either kind, and a file."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import psycopg
import pytest
from sqlglot import exp, parse, parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Rows, Text
from sqlsvm.errors import EngineError, OptionError, SqlsvmError
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import FORMAT
from sqlsvm.model.weights import Weight, Weights
from sqlsvm.store import Kept, Store, open_store
from sqlsvm.store.templates import template
from tests.ground.models import HOSTILE, model
from tests.typed import asked, typed

pytestmark = pytest.mark.each

MAKES = ("CREATE", "INSERT", "UPDATE", "DELETE", "COMMENT", "ALTER", "DROP")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.json"


@pytest.fixture(params=["postgres", "duckdb", "file"])
def store(request: pytest.FixtureRequest, file: Path) -> Store:
    return open_store(file if request.param == "file" else request.getfixturevalue(request.param))


@pytest.fixture
def base(engine: Engine) -> Store:
    return open_store(engine)


def rows(engine: Engine, text: str) -> Rows:
    return asked(engine, parse_one(text, read="postgres"))


# -- every store -------------------------------------------------------------------------------------------------------


def test_what_is_saved_is_loaded(store: Store) -> None:
    made = model()
    assert store.save(made) == 1
    assert store.load("late") == replace(made, version=1)


def test_a_model_with_maps_is_listed_and_stored_again(store: Store) -> None:
    """All features but the first are left out of what a list reads, and each formula needs its feature."""
    names = [f"x_bin{n}" for n in range(3)]
    mapped = Mapped("bins:x:2", ("x",), {name: f"$1 * {n}.0" for n, name in enumerate(names)})
    made = replace(model(), weights=Weights.of([Weight(name, None, 1.0, 1.0, 0.0) for name in names]), maps=(mapped,))
    assert [store.save(made), store.save(made)] == [1, 2]
    assert store.load("late").maps == (mapped,)
    assert {(stored.version, stored.error) for stored in store.models()} >= {(2, None)}


def test_versions_count_up_and_the_newest_is_loaded(store: Store) -> None:
    assert [store.save(model(intercept=float(n))) for n in (1, 2, 3)] == [1, 2, 3]
    assert (store.load("late").version, store.load("late").intercept) == (3, 3.0)
    assert store.load("late", 3) == store.load("late")


def test_a_name_is_a_value(store: Store) -> None:
    for name in HOSTILE:
        made = model(name, query=name, label=name, positive=name)
        assert (store.save(made), store.save(made)) == (1, 2)
        assert store.load(name) == replace(made, version=2)
        assert {stored.name for stored in store.models()} == {name}
        assert store.drop(name).versions[-1] == 2
        assert store.models() == ()


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_a_name_that_no_database_holds(store: Store, name: str) -> None:
    with pytest.raises(OptionError, match="cannot be named"):
        store.save(model(name))
    assert store.models() == ()


def test_nothing_is_made_by_looking(store: Store, statements: list[str], file: Path) -> None:
    assert store.models() == ()
    with pytest.raises(OptionError, match='there is no model "late"\nHINT: none is stored here'):
        store.load("late")
    with pytest.raises(OptionError, match="there is no model"):
        store.drop("late", 2)
    assert [text for text in statements if text.startswith(MAKES)] == []
    assert not file.exists()


def test_an_unknown_name_and_an_unknown_version(store: Store) -> None:
    store.save(model("carriers"))
    for call in (store.load, store.drop):
        with pytest.raises(OptionError, match=r'there is no model "Carrier"\nHINT: did you mean carriers\?'):
            call("Carrier", None)
        with pytest.raises(OptionError, match='model "carriers" has no version 7\nHINT: it has 1'):
            call("carriers", 7)
    with pytest.raises(OptionError, match=r"HINT: stored are carriers$"):
        store.load("xyz")


def test_the_listing(store: Store) -> None:
    store.save(model())
    (stored,) = store.models()
    made = model(version=1)
    same = [name for name in vars(stored) if name not in ("created_at", "error")]
    assert {name: getattr(stored, name) for name in same} == {name: getattr(made, name) for name in same}
    assert stored.created_at.utcoffset() is not None
    json.dumps(stored.as_json(), allow_nan=False)


def test_the_state_of_a_training(store: Store, statements: list[str]) -> None:
    """It is there without a model, is replaced, is of its own name, and goes with the model or alone."""
    assert store.load_state("late") is None
    store.drop_state("late")
    assert [text for text in statements if text.startswith(MAKES)] == []
    for state in ({"passes": [0.1, 1e-300]}, {"note": "it's \\ \U0001f41f"}):
        store.save_state("late", state)
        assert store.load_state("late") == state
    assert store.load_state("later") is None
    assert store.models() == ()
    store.drop_state("late")
    assert store.load_state("late") is None
    store.save(model())
    store.save_state("late", {})
    store.drop("late")
    assert store.load_state("late") is None


def test_a_state_alone_is_dropped(store: Store) -> None:
    """As a whole; a version of it there is none."""
    store.save_state("late", {"passes": 1})
    with pytest.raises(OptionError, match='there is no model "late"'):
        store.drop("late", 1)
    assert store.load_state("late") == {"passes": 1}
    assert store.kept("late") == store.drop("late") == Kept(state=True)
    assert store.load_state("late") is None
    for call in (store.kept, store.drop):
        with pytest.raises(OptionError, match='there is no model "late"'):
            call("late")


def test_a_version_goes_alone(store: Store) -> None:
    store.save(model())
    store.save_state("late", {})
    assert store.kept("late", 1) == store.drop("late", 1) == Kept((1,))
    assert store.kept("late") == Kept(state=True)


def test_infinite_numbers_are_kept(store: Store) -> None:
    made = model(objective_upper=float("inf"), lower_bound=float("-inf"), gap=float("inf"), converged=False)
    store.save(made)
    assert store.load("late") == replace(made, version=1)
    assert store.models()[0].objective_upper == float("inf")
    json.dumps(store.models()[0].as_json(), allow_nan=False)


# -- databases ---------------------------------------------------------------------------------------------------------


def test_names_and_versions_stand_side_by_side(base: Store) -> None:
    for name in ("b", "B", "a", "b", "b"):
        base.save(model(name))
    assert [(s.name, s.version) for s in base.models()] == [("B", 1), ("a", 1), ("b", 3), ("b", 2), ("b", 1)]
    assert base.drop("b", 2) == Kept((2,))
    assert base.load("b", 1).version == 1
    assert base.drop("b") == Kept((1, 3))
    assert [s.name for s in base.models()] == ["B", "a"]


def test_a_number_is_not_given_twice(base: Store) -> None:
    base.save(model())
    base.save(model())
    base.drop("late", 2)
    assert base.save(model()) == 3


def test_the_last_number(base: Store, engine: Engine) -> None:
    """Before a training it is said too."""
    base.save(model())
    typed(engine, parse_one("UPDATE sqlsvm.models SET last_version = 2147483646"))
    assert base.save(model()) == 2147483647
    for attempt in (lambda: base.save(model()), lambda: base.check(model().name)):
        with pytest.raises(EngineError, match='the model "late" has had 2147483647 versions'):
            attempt()
    assert base.load("late").version == 2147483647


def test_nothing_of_a_dropped_model_is_left(base: Store, engine: Engine) -> None:
    base.save(model())
    base.drop("late")
    for table in ("models", "versions", "iterations"):
        assert rows(engine, f"SELECT COUNT(*) AS n FROM sqlsvm.{table}")["n"][0] == 0
    assert base.save(model()) == 1


def test_what_people_ask_for_by_sql(base: Store, engine: Engine) -> None:
    base.save(model())
    found = rows(engine, "SELECT name, version, gap, converged, join_rows, query FROM sqlsvm.versions")
    assert [column[0] for column in found.values()] == ["late", 1, 0.0024, True, 1.5e12, model().query]
    found = rows(engine, "SELECT pass, gap, lower_bound, buckets FROM sqlsvm.iterations ORDER BY pass")
    assert list(found["pass"]) == [1, 2]
    assert list(found["gap"]) == [float("inf"), 0.0024]
    assert found["lower_bound"][0] == float("-inf")
    assert str(found["buckets"][0]) == "nan"


def test_the_body_is_json_that_the_database_reads(base: Store, engine: Engine) -> None:
    base.save(model(gap=float("inf")))
    found = rows(engine, "SELECT CAST(CAST(body AS JSON) ->> 'gap' AS DOUBLE PRECISION) AS gap FROM sqlsvm.versions")
    assert found["gap"][0] == float("inf")


def test_a_failed_save_leaves_nothing(base: Store, engine: Engine) -> None:
    with pytest.raises(SqlsvmError):
        base.save(model(label=None))
    assert base.models() == ()
    assert base.save(model()) == 1


def test_tables_of_a_later_sqlsvm_are_left_alone(base: Store, engine: Engine) -> None:
    base.save(model())
    typed(engine, parse_one("INSERT INTO sqlsvm.schema_version (version) VALUES (99)", read="postgres"))
    for call in (base.models, lambda: base.load("late"), lambda: base.save(model()), lambda: base.drop("late")):
        with pytest.raises(EngineError, match="form 99, which this sqlsvm does not know"):
            call()


def test_tables_of_others_are_left_alone(engine: Engine) -> None:
    typed(engine, parse_one("CREATE SCHEMA sqlsvm", read="postgres"))
    typed(engine, parse_one("CREATE TABLE sqlsvm.models AS SELECT 42 AS precious", read="postgres"))
    store = open_store(engine)
    assert store.models() == ()
    with pytest.raises(EngineError, match="already exists"):
        store.save(model())
    assert rows(engine, "SELECT precious FROM sqlsvm.models")["precious"][0] == 42
    assert store.models() == ()


def savers(url: str, names: list[str], each: int) -> list[tuple[str, int]]:
    """What sessions of their own, all at once, were given."""
    given: list[tuple[str, int]] = []

    def work(name: str) -> None:
        with connect(url) as engine:
            store = open_store(engine)
            given.extend((name, store.save(model(name))) for _ in range(each))

    threads = [Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return given


@pytest.mark.parametrize("kind", ["postgres", "duckdb"])
def test_savers_at_the_same_time(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    """The tables do not exist yet, so they race for these too."""
    url = request.getfixturevalue("postgres_dsn") if kind == "postgres" else f"duckdb:{tmp_path / 'm.duckdb'}"
    with connect(url) as engine:  # keeps DuckDB's file open between two savers
        given = savers(url, ["a", "a", "a", "b"], each=4)
        assert sorted(given) == [*(("a", n) for n in range(1, 13)), *(("b", n) for n in range(1, 5))]
        assert len(open_store(engine).models()) == 16


@pytest.mark.parametrize("name", ["sqlsvm.duckdb", "models.db", "Capital 'q\".duckdb"])
def test_a_duckdb_file_of_any_name(tmp_path: Path, name: str) -> None:
    """In sqlsvm.duckdb the word sqlsvm could mean the database or the schema."""
    url = f"duckdb:{tmp_path / name}"
    for version in (1, 2):
        with connect(url) as engine:
            assert open_store(engine).save(model()) == version
    with connect(url) as engine:
        store = open_store(engine)
        assert store.load("late", 1).version == 1
        assert store.drop("late") == Kept((1, 2))


DAMAGED = {
    "{": "not JSON: Expecting property name enclosed in double quotes at line 1, column 2",
    "{}": "passes: is missing",
    "[1]": "expected an object, found a list of 1",
    '{"format": 99}': f"made by a newer sqlsvm (format 99; this one reads up to {FORMAT})",
}


@pytest.mark.parametrize("body", DAMAGED)
def test_a_damaged_model_is_one_row_of_the_list(base: Store, engine: Engine, body: str) -> None:
    for name in ("early", "late", "late"):
        base.save(model(name))
    change = "UPDATE sqlsvm.versions SET body = $1 WHERE name = 'late' AND version = 2"
    engine.execute(parse_one(change, read="postgres"), [body])
    said = f'model "late", version 2: {DAMAGED[body]}'
    assert [(s.name, s.version, s.error) for s in base.models()] == [
        ("early", 1, None),
        ("late", 2, said),
        ("late", 1, None),
    ]
    with pytest.raises(OptionError, match=re.escape(said)):
        base.load("late")
    assert base.load("late", 1).version == 1
    assert base.drop("late", 2) == Kept((2,))


# -- PostgreSQL --------------------------------------------------------------------------------------------------------


@pytest.fixture
def role(postgres: Engine) -> Iterator[str]:
    """A role that was given nothing in this database."""
    name = f"Sqlsvm reader {os.getpid()}"
    quoted = exp.to_identifier(name, quoted=True).sql("postgres")
    typed(postgres, f"CREATE ROLE {quoted}")
    yield quoted
    postgres.execute(Text("RESET ROLE"))
    typed(postgres, f"DROP OWNED BY {quoted}")
    typed(postgres, f"DROP ROLE {quoted}")


def grants(error: EngineError) -> list[str]:
    assert error.hint
    return error.hint.partition("can allow it: ")[2].split("; ")


def granted(engine: Engine, role: str, error: EngineError) -> None:
    """Do what the hint says, in the role that may."""
    engine.execute(Text("RESET ROLE"))
    for grant in grants(error):
        typed(engine, grant)
    engine.execute(Text(f"SET ROLE {role}"))


def test_a_role_that_may_not_make_the_schema(postgres: Engine, role: str) -> None:
    store = open_store(postgres)
    postgres.execute(Text(f"SET ROLE {role}"))
    assert store.models() == ()
    with pytest.raises(EngineError, match=r"model store: permission denied for database .*\nHINT: .*GRANT CREATE") as e:
        store.save(model())
    granted(postgres, role, e.value)
    assert store.save(model()) == 1


def test_a_reader_loads_and_neither_saves_nor_drops(postgres: Engine, role: str) -> None:
    store = open_store(postgres)
    store.save(model())
    postgres.execute(Text(f"SET ROLE {role}"))
    with pytest.raises(EngineError, match="permission denied for schema sqlsvm") as e:
        store.load("late")
    granted(postgres, role, e.value)
    assert store.load("late").version == 1
    with pytest.raises(EngineError, match="permission denied for table iterations"):
        store.drop("late")
    with pytest.raises(EngineError, match="permission denied for table models") as e:
        store.save(model())
    granted(postgres, role, e.value)
    assert store.save(model()) == 2
    assert store.drop("late") == Kept((1, 2))


def test_a_schema_that_was_made_for_the_role(postgres: Engine, role: str) -> None:
    typed(postgres, f"CREATE SCHEMA sqlsvm AUTHORIZATION {role}")
    postgres.execute(Text(f"SET ROLE {role}"))
    assert open_store(postgres).save(model()) == 1


def test_everything_has_a_comment(postgres: Engine) -> None:
    open_store(postgres).save(model())
    silent = rows(
        postgres,
        """SELECT c.relname || COALESCE('.' || a.attname, '') AS name FROM pg_catalog.pg_class AS c
        LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relnamespace = CAST('sqlsvm' AS REGNAMESPACE) AND c.relkind = 'r'
          AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)""",
    )
    assert list(silent["name"]) == []
    assert rows(postgres, "SELECT obj_description('sqlsvm'::regnamespace, 'pg_namespace') AS said")["said"][0]


def test_versions_go_with_their_model(postgres: Engine) -> None:
    store = open_store(postgres)
    store.save(model())
    typed(postgres, parse_one("DELETE FROM sqlsvm.models", read="postgres"))
    assert store.models() == ()
    assert rows(postgres, "SELECT COUNT(*) AS n FROM sqlsvm.iterations")["n"][0] == 0


def test_the_templates_are_what_psql_would_run(postgres: Engine, postgres_dsn: str) -> None:
    """Not only as sqlglot reads them."""
    with psycopg.connect(postgres_dsn) as connection:
        for name in ("schema", "tables", "references"):
            connection.execute(template(name).encode())
    assert open_store(postgres).save(model()) == 1


def test_no_value_stands_in_a_statement(base: Store, statements: list[str]) -> None:
    base.save(model("secret name", query="secret query"))
    base.load("secret name")
    base.drop("secret name")
    assert [text for text in statements if "secret" in text] == []
    assert all(len(parse(text, read="postgres")) == 1 for text in statements if text.startswith(MAKES))


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_file_holds_the_last_version_of_one_model(file: Path) -> None:
    store = open_store(file)
    store.save(model())
    store.save(model())
    with pytest.raises(OptionError, match="no version 1\nHINT: it has 2"):
        store.load("late", 1)
    with pytest.raises(OptionError, match='holds the model "late", not "early"'):
        store.save(model("early"))
    assert store.load("late").version == 2
    assert store.drop("late") == Kept((2,))
    assert list(file.parent.iterdir()) == []
    assert store.save(model("early")) == 1


NO_MODELS = {
    "": "not JSON: Expecting value at line 1, column 1",
    "SELECT 1": "not JSON: Expecting value at line 1, column 1",
    "[]": "expected an object, found a list of 0",
    "{}": "passes: is missing",
    '{"model": "late"}': "passes: is missing",
    "\xff": "not UTF-8: byte 1",
    "[" * 100_000: "lists and objects are nested too deeply",
    '{"model": "a", "model": "b"}': 'the field "model" is there twice in one object',
    '{"bags": ' + "9" * 5000 + "}": "not JSON: a number has too many digits",
}


@pytest.mark.parametrize("text", NO_MODELS, ids=lambda text: text[:20])
def test_a_file_that_is_no_model_is_not_replaced(file: Path, text: str) -> None:
    file.write_bytes(text.encode("latin-1"))
    for call in (open_store(file).models, lambda: open_store(file).save(model())):
        with pytest.raises(OptionError, match=re.escape(f"model.json: {NO_MODELS[text]}\nHINT: is this a model")):
            call()
    assert file.read_bytes() == text.encode("latin-1")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SqlsvmError, match="cannot write the model file"):
        open_store(tmp_path / "missing" / "model.json").save(model())
    with pytest.raises(OptionError, match="cannot read the model file"):
        open_store(tmp_path).load("late")


def test_nothing_goes_where_something_cannot_be_read(file: Path) -> None:
    store = open_store(file)
    store.save(model())
    state = file.with_name("model.json.state")
    state.write_text("[")
    said = r"model\.json\.state: not JSON: Expecting value at line 1, column 2\nHINT: leave out --resume to train anew$"
    with pytest.raises(OptionError, match=said):
        store.drop("late")
    assert store.load("late").version == 1
    store.drop_state("late")  # as a training does when it has converged
    assert state.read_text() == "["


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
def test_a_state_that_another_user_left_is_not_believed(file: Path) -> None:
    """Its name follows from the name of the model file, and a training would go on from it."""
    store = open_store(file)
    store.save_state("late", {"passes": 1})
    assert store.load_state("late") == {"passes": 1}
    os.chown(file.with_name("model.json.state"), 12345, 12345)
    with pytest.raises(OptionError, match=r"cannot read the training state file .*\nDETAIL: user 12345 owns"):
        store.load_state("late")


def test_a_device_keeps_no_model() -> None:
    """What it was given could not be read again."""
    said = r"cannot keep a model in /dev/null, which is a device or a pipe\nHINT: name a file, "
    with pytest.raises(OptionError, match=said):
        open_store("/dev/null").check("late")
    with pytest.raises(OptionError, match="cannot read the model file /dev/zero\nDETAIL: /dev/zero is a device"):
        open_store("/dev/zero").load("late")


def test_a_link_stays_a_link(file: Path) -> None:
    link = file.with_name("latest.json")
    link.symlink_to(file)
    open_store(link).save(model())
    assert link.is_symlink()
    assert open_store(str(file)).load("late").version == 1
